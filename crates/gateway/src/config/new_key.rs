//! Making an API key.
//!
//! A key is `hw_` and 192 random bits in hexadecimal; guessing one is hopeless, so a plain SHA-256
//! of the whole text is all that needs to be stored (C1, G-5). The randomness is handed in: the
//! library has no source of its own.

use super::name::Label;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Random bytes in a key.
pub const KEY_ENTROPY: usize = 24;

/// A key that exists nowhere else yet.
pub struct NewKey {
    key: String,
    snippet: String,
}

impl NewKey {
    /// Makes the key `name` from random bytes.
    ///
    /// # Errors
    /// What a name may consist of.
    pub fn new(name: &str, random: [u8; KEY_ENTROPY]) -> Result<Self, String> {
        let Label(name) = Label::parse(name)?;
        let key = format!("hw_{}", hexadecimal(&random));
        let hash = hexadecimal(&Sha256::digest(key.as_bytes()));
        let snippet = format!("[[keys]]\nname = \"{name}\"\nhash = \"sha256:{hash}\"\n");
        Ok(Self { key, snippet })
    }

    /// The key itself, for whoever will use it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.key
    }

    /// The section of the configuration file that accepts it.
    #[must_use]
    pub fn snippet(&self) -> &str {
        &self.snippet
    }
}

impl std::fmt::Debug for NewKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NewKey")
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Format, Overrides, Settings};

    // G-5
    #[test]
    fn a_new_key_is_accepted_by_the_section_it_comes_with() {
        let key = NewKey::new("frontend", [0xa5; KEY_ENTROPY]).unwrap();
        assert_eq!(key.expose(), format!("hw_{}", "a5".repeat(KEY_ENTROPY)));
        let file = format!(
            "[[chains.ethereum.endpoints]]\nurl = 'https://a.example'\n{}",
            key.snippet()
        );
        let settings =
            Settings::parse("f", &file, Format::Toml, &|_| None, &Overrides::default()).unwrap();
        assert_eq!(settings.keys[0].name, "frontend");
        assert_eq!(settings.keys[0].hash[..], Sha256::digest(key.expose())[..]);
        assert!(!format!("{key:?}{}", key.snippet()).contains("a5a5"));
    }

    // G-5
    #[test]
    fn refuses_a_name_that_the_file_would_refuse() {
        assert!(NewKey::new("a b", [0; KEY_ENTROPY]).is_err());
        assert!(NewKey::new("", [0; KEY_ENTROPY]).is_err());
    }
}
