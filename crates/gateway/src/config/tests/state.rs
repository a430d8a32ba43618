//! Where something is kept across restarts.

use super::{CHAIN, Format, read};
use crate::config::{Overrides, Settings};
use std::path::Path;

// G-12
#[test]
fn the_folder_is_as_written_or_there_is_none() {
    let with = |state: &str| read(Format::Toml, &format!("{CHAIN}{state}"));
    let dir = |state: &str| with(state).unwrap().state.dir;
    assert_eq!(dir(""), None);
    assert_eq!(dir("[state]\n"), None);
    let written = dir("[state]\ndir = \"/var/lib/highwater\"\n");
    assert_eq!(written.as_deref(), Some(Path::new("/var/lib/highwater")));
    let relative = dir("[state]\ndir = \"${PERIOD}/state\"\n");
    assert_eq!(relative.as_deref(), Some(Path::new("7s/state")));
    for (odd, problem) in [
        ("dir = ''", "expected the path of a folder"),
        ("dir = 7", "a folder as a string"),
        ("folder = 'x'", "unknown option `folder` in `state`"),
    ] {
        let report = with(&format!("[state]\n{odd}\n")).unwrap_err();
        let report = format!("{report:?}");
        assert!(report.contains(problem), "{report}");
    }
    // Flags alone keep nothing.
    let urls = ["http://127.0.0.1:1".to_owned()];
    let settings = Settings::from_urls(&urls, None, &Overrides::default()).unwrap();
    assert_eq!(settings.state.dir, None);
}
