//! A child process that a test can wait for, stop, kill, and that never outlives the test.
//!
//! The kernel sends the child SIGKILL when the *thread* that started it ends (`setpriv
//! --pdeathsig`), so all children are started by one thread that lives as long as the process.
//! Waiting is waiting for a line or for the end of standard output, never for time to pass.

use std::{
    fmt::Write as _,
    fs,
    io::{self, BufRead, BufReader, Read, Write as _},
    path::Path,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Arc, LazyLock, Mutex,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

/// How long a child may take to say a line or to end before the test fails. Generous: it is only
/// reached when something is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// Its number on Linux.
const SIGTERM: u32 = 15;

/// How many lines of standard output a message holds.
const LAST_LINES: usize = 20;

/// A running (or ended) child.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    said: Vec<String>,
    stderr: Arc<Mutex<String>>,
    stderr_done: Receiver<()>,
}

impl Process {
    /// Starts `program` with `args`.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(program: &Path, args: &[&str]) -> Self {
        let mut command = bound_to_this_process(program);
        command.args(args).stdin(Stdio::null());
        Self::run(program, command)
    }

    /// Starts `program` with `args`, with nothing in its environment but `env`; it will be told
    /// lines with [`tell`](Self::tell).
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start_conversation(program: &Path, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = bound_to_this_process(program);
        command.args(args).stdin(Stdio::piped());
        command.env_clear().envs(env.iter().copied());
        Self::run(program, command)
    }

    fn run(program: &Path, mut command: Command) -> Self {
        let name = program
            .file_name()
            .unwrap_or(program.as_os_str())
            .to_string_lossy()
            .into_owned();
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = spawn(command).unwrap_or_else(|error| {
            panic!("cannot start {} by setpriv: {error}", program.display())
        });
        let stdout = child.stdout.take().expect("invariant: stdout is piped");
        let stderr = child.stderr.take().expect("invariant: stderr is piped");
        let text = Arc::new(Mutex::new(String::new()));
        Self {
            name,
            stdin: child.stdin.take(),
            child,
            lines: read_lines(stdout),
            said: Vec::new(),
            stderr_done: collect(stderr, Arc::clone(&text)),
            stderr: text,
        }
    }

    /// Waits for a line of standard output that starts with `prefix`; gives what follows it.
    ///
    /// # Panics
    /// When the child ends or is silent for too long; the message holds what it said.
    pub fn wait_for_line(&mut self, prefix: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    let rest = line.strip_prefix(prefix).map(str::to_owned);
                    self.said.push(line);
                    if let Some(rest) = rest {
                        return rest;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("{} did not say {prefix:?}; {}", self.name, self.words())
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait();
                    panic!(
                        "{} ended ({status:?}) before {prefix:?}; {}",
                        self.name,
                        self.words()
                    )
                }
            }
        }
    }

    /// The lines of standard output that are there already and were not waited for.
    #[must_use]
    pub fn ready_lines(&mut self) -> Vec<String> {
        let lines: Vec<String> = self.lines.try_iter().collect();
        self.said.extend(lines.iter().cloned());
        lines
    }

    /// Writes one line to its standard input.
    ///
    /// # Panics
    /// When it does not take the line; the message holds what it said.
    pub fn tell(&mut self, line: &str) {
        let told = match &mut self.stdin {
            Some(stdin) => stdin.write_all(format!("{line}\n").as_bytes()),
            None => Err(io::Error::other("its standard input is closed")),
        };
        if let Err(error) = told {
            panic!(
                "{} cannot be told {line}: {error}; {}",
                self.name,
                self.words()
            );
        }
    }

    /// Sends SIGTERM.
    ///
    /// # Panics
    /// When the signal cannot be sent.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// Waits until SIGTERM is handled and no longer just ends it, which a program arranges at some
    /// time after its start.
    ///
    /// # Panics
    /// When it does not get there.
    pub fn wait_until_it_handles_sigterm(&self) {
        let status = format!("/proc/{}/status", self.child.id());
        let until = Instant::now() + PATIENCE;
        let handled = || {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            caught.is_some_and(|mask| mask & (1 << (SIGTERM - 1)) != 0)
        };
        while !handled() {
            assert!(
                Instant::now() < until,
                "{} handles no SIGTERM; {}",
                self.name,
                self.words()
            );
            thread::yield_now();
        }
    }

    /// Sends a signal by name.
    ///
    /// # Panics
    /// When the signal cannot be sent.
    pub fn signal(&self, signal: &str) {
        // The shell's own `kill`: a `Child` can only be killed, and a call into the C library
        // would need `unsafe`.
        let sent = Command::new("sh")
            .args([
                "-c",
                "kill -s \"$0\" \"$1\"",
                signal,
                &self.child.id().to_string(),
            ])
            .status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "cannot signal {}",
            self.name
        );
    }

    /// Kills it at once (SIGKILL) and reaps it. Does nothing when it has ended.
    pub fn kill(&mut self) {
        // Both only fail when the child is gone already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until it has ended.
    ///
    /// # Panics
    /// When it does not end in time.
    pub fn wait(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.kill();
                    panic!("{} did not end; {}", self.name, self.words());
                }
            }
        }
        self.child
            .wait()
            .expect("invariant: a child of this process can be waited for")
    }

    /// Everything it wrote to standard error; complete once it has ended.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr
            .lock()
            .map_or_else(|_| String::new(), |text| text.clone())
    }

    /// Everything it wrote to standard error, after the end of that stream.
    ///
    /// # Panics
    /// When the stream stays open.
    #[must_use]
    pub fn final_stderr(&mut self) -> String {
        match self.stderr_done.recv_timeout(PATIENCE) {
            Err(RecvTimeoutError::Timeout) => panic!("{} holds its stderr open", self.name),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => self.stderr(),
        }
    }

    /// The lines of standard output taken so far.
    #[must_use]
    pub fn said(&self) -> &[String] {
        &self.said
    }

    fn words(&self) -> String {
        let last = &self.said[self.said.len().saturating_sub(LAST_LINES)..];
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = write!(text, "stdout: {last:?}; stderr: {}", self.stderr());
        text
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A command that starts `program`, with its life tied to that of the thread that runs it.
fn bound_to_this_process(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}

type Order = (Command, Sender<io::Result<Child>>);

fn spawn(command: Command) -> io::Result<Child> {
    static STARTER: LazyLock<Mutex<Sender<Order>>> = LazyLock::new(|| {
        let (orders, taken) = mpsc::channel::<Order>();
        thread::spawn(move || {
            for (mut command, reply) in taken {
                // The one who asked is waiting in `recv` below.
                let _ = reply.send(command.spawn());
            }
        });
        Mutex::new(orders)
    });
    let (reply, child) = mpsc::channel();
    STARTER
        .lock()
        .expect("invariant: nothing panics while it holds this lock")
        .send((command, reply))
        .expect("invariant: the starting thread never ends");
    child
        .recv()
        .expect("invariant: the starting thread always replies")
}

/// Reads to the end whatever happens, so that the child never blocks on a full pipe.
fn read_lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (lines, taken) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            // Nobody may be listening any more; the pipe must be emptied all the same.
            let _ = lines.send(line);
        }
    });
    taken
}

fn collect(stream: impl Read + Send + 'static, into: Arc<Mutex<String>>) -> Receiver<()> {
    let (done, end) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if let Ok(mut text) = into.lock() {
                text.push_str(&line);
                text.push('\n');
            }
        }
        let _ = done.send(());
    });
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_line_waited_for_and_the_exit_code() {
        let mut process = Process::start(
            Path::new("/bin/sh"),
            &["-c", "echo a; echo 'on x'; echo e >&2; exit 3"],
        );
        assert_eq!(process.wait_for_line("on "), "x");
        assert_eq!(process.wait().code(), Some(3));
        assert_eq!(process.final_stderr(), "e\n");
        assert_eq!(process.said(), ["a", "on x"]);
    }

    #[test]
    fn a_conversation_goes_on_until_the_child_ends_and_has_only_the_given_environment() {
        let path = Path::new("/bin/sh");
        let script = "while read x; do echo \"got $x $GIVEN $HOME\"; done";
        let mut process = Process::start_conversation(path, &["-c", script], &[("GIVEN", "y")]);
        for word in ["a", "b"] {
            process.tell(word);
            assert_eq!(process.wait_for_line("got "), format!("{word} y "));
        }
    }

    #[test]
    #[should_panic(expected = "sh ended")]
    fn says_so_when_the_process_ends_first() {
        let _ = Process::start(Path::new("/bin/sh"), &["-c", "echo a"]).wait_for_line("b");
    }

    #[test]
    fn outlives_the_thread_that_started_it() {
        let mut process = thread::spawn(|| {
            Process::start(
                Path::new("/bin/sh"),
                &["-c", "trap 'exit 9' TERM; read x; while :; do :; done"],
            )
        })
        .join()
        .unwrap();
        process.wait_until_it_handles_sigterm();
        process.terminate();
        assert_eq!(process.wait().code(), Some(9));
    }
}
