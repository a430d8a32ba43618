//! The configuration: from a file or from URLs to checked [`Settings`].

mod settings;

pub use settings::{
    AdminSettings, ChainSettings, EndpointSettings, KeySettings, LogFormat, LogSettings,
    MethodRules, Secret, ServerSettings, Settings, WritePolicy,
};
