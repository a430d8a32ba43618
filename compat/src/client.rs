//! A program written with one of the libraries that people use, told what to do line by line.
//!
//! The programs are in `compat/clients`. Each is one process that carries out orders in turn and
//! says what the library made of them.

use crate::{
    process::Process,
    tools::{javascript_folder, node_path, python_folder, python_path},
};
use serde_json::{Value, json};
use std::{env, path::Path};

/// A client library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// viem.
    Viem,
    /// ethers.
    Ethers,
    /// web3.py.
    Web3Py,
}

/// A running program.
#[derive(Debug)]
pub struct Client {
    process: Process,
}

/// An error, as the library shows it to its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The class of the error (viem, web3.py) or its code word (ethers).
    pub name: String,
    /// Its text.
    pub text: String,
    /// The JSON-RPC code, where the library gives it.
    pub code: Option<i64>,
    /// What the library decoded of a revert.
    pub reason: Option<String>,
    /// The data of a revert.
    pub data: Option<String>,
}

/// One of many reads.
#[derive(Clone, Debug)]
pub struct Read {
    /// Which of the questions it was.
    pub question: usize,
    /// What came of it.
    pub outcome: Result<Value, Shown>,
}

impl Client {
    /// Starts a program written with `library`.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(library: Library) -> Self {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
        let program = |name: &str| programs.join(name).display().to_string();
        let modules = |name: &str| [program(name), javascript_folder().display().to_string()];
        let process = match library {
            Library::Viem => start(node_path(), &modules("viem.mjs"), None),
            Library::Ethers => start(node_path(), &modules("ethers.mjs"), None),
            Library::Web3Py => {
                let libraries = python_folder().display().to_string();
                start(python_path(), &[program("web3_client.py")], Some(libraries))
            }
        };
        Self { process }
    }

    /// Gives an order, `{"op": …, "url": …, …}`, and waits until it is carried out.
    ///
    /// # Errors
    /// What the library makes of it.
    ///
    /// # Panics
    /// When the program ends, is silent for too long, or does not know the operation.
    pub fn ask(&mut self, order: &Value) -> Result<Value, Shown> {
        self.tell(order);
        self.answer()
    }

    /// Gives an order and goes on; [`answer`](Self::answer) waits for it.
    ///
    /// # Panics
    /// When the program has ended.
    pub fn tell(&mut self, order: &Value) {
        self.process.tell(&order.to_string());
    }

    /// Waits for the answer to an order.
    ///
    /// # Errors
    /// What the library makes of it.
    ///
    /// # Panics
    /// As [`ask`](Self::ask).
    pub fn answer(&mut self) -> Result<Value, Shown> {
        outcome(self.line())
    }

    /// Repeats `questions`, which are orders, `lanes` at a time, until it is told to stop.
    ///
    /// # Panics
    /// When the program has ended.
    pub fn begin_reads(&mut self, questions: &[Value], lanes: usize) {
        self.tell(&json!({"op": "reads", "questions": questions, "lanes": lanes}));
    }

    /// Takes the reads that have ended already, and waits for `more`, which end from now on.
    ///
    /// # Panics
    /// As [`ask`](Self::ask).
    #[must_use]
    pub fn reads(&mut self, more: usize) -> Vec<Read> {
        let mut lines: Vec<Value> = self
            .process
            .ready_lines()
            .iter()
            .map(|line| parsed(line))
            .collect();
        lines.extend((0..more).map(|_| self.line()));
        let read = |line| Read::of(line).unwrap_or_else(|line| panic!("{line} is no read"));
        lines.into_iter().map(read).collect()
    }

    /// Ends the reads; gives those that nobody waited for.
    ///
    /// # Panics
    /// As [`ask`](Self::ask).
    #[must_use]
    pub fn end_reads(&mut self) -> Vec<Read> {
        self.tell(&json!({"op": "stop"}));
        let mut rest = Vec::new();
        loop {
            let line = self.line();
            match Read::of(line) {
                Ok(read) => rest.push(read),
                Err(_) => return rest,
            }
        }
    }

    fn line(&mut self) -> Value {
        parsed(&self.process.wait_for_line(""))
    }
}

impl Read {
    /// Gives the line back when it is not about a read.
    fn of(line: Value) -> Result<Self, Value> {
        match line["question"].as_u64().map(usize::try_from) {
            Some(Ok(question)) => Ok(Self {
                question,
                outcome: outcome(line),
            }),
            Some(Err(_)) | None => Err(line),
        }
    }
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
}

/// With no settings of whoever runs the tests; what finds programs and shared libraries stays.
fn start(interpreter: &Path, args: &[String], python_path: Option<String>) -> Process {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let kept = ["PATH", "HOME", "LD_LIBRARY_PATH"];
    let mut environment: Vec<(&str, String)> = kept
        .into_iter()
        .filter_map(|name| env::var(name).ok().map(|value| (name, value)))
        .collect();
    environment.extend(python_path.map(|path| ("PYTHONPATH", path)));
    let environment: Vec<(&str, &str)> = environment
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    Process::start_conversation(interpreter, &args, &environment)
}

fn outcome(mut line: Value) -> Result<Value, Shown> {
    if let Some(ok) = line.get_mut("ok") {
        return Ok(ok.take());
    }
    let error = &line["error"];
    assert!(error.is_object(), "{line} is no answer");
    Err(Shown::of(error))
}

impl Shown {
    /// Reads the error of a member of a batch.
    #[must_use]
    pub fn of(error: &Value) -> Self {
        let text = |member: &str| error[member].as_str().map(str::to_owned);
        Self {
            name: text("name").unwrap_or_default(),
            text: text("text").unwrap_or_default(),
            code: error["code"].as_i64(),
            reason: text("reason"),
            data: text("data"),
        }
    }
}
