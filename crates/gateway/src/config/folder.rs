//! The path of a folder.

use super::name::{Expected, option_text};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};
use std::{borrow::Cow, path::PathBuf};

/// A folder, absolute or from where the process was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.contains('\0') {
            return Err("expected the path of a folder".to_owned());
        }
        Ok(Self(text.into()))
    }
}

option_text! {
    Folder, Folder::parse, "a folder", { "type": "string", "format": "folder" };
}
