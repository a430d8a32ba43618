//! Options of raw transactions: that each arrives.

use super::engine::good;
use crate::config::{Settings, WritePolicy};

fn with(chain: &str, endpoint: &str, key: &str) -> Settings {
    let hash = format!("hash = 'sha256:{}'", "0".repeat(64));
    let text = format!(
        "[chains.ethereum]\n{chain}\n[[chains.ethereum.endpoints]]\nurl = 'https://a.example'\n\
         {endpoint}\n[[keys]]\nname = 'a'\n{hash}\n{key}\n"
    );
    good(&text)
}

//
#[test]
fn every_option_of_sends_arrives() {
    let silent = with("", "", "");
    let chain = &silent.chains[0];
    assert_eq!(chain.writes, WritePolicy::Once);
    assert_eq!((chain.broadcast_to, chain.verify_writes), (3, None));
    assert!(!chain.private_writes && !chain.endpoints[0].private);
    assert_eq!(
        (silent.keys[0].writes, silent.keys[0].private_writes),
        (None, None)
    );
    let full = with(
        "writes = 'broadcast'\nbroadcast_to = 5\nverify_writes = false\nprivate_writes = true",
        "private = true",
        "writes = 'failover'\nprivate_writes = false",
    );
    let chain = &full.chains[0];
    assert_eq!(chain.writes, WritePolicy::Broadcast);
    assert_eq!((chain.broadcast_to, chain.verify_writes), (5, Some(false)));
    assert!(chain.private_writes && chain.endpoints[0].private);
    let key = &full.keys[0];
    assert_eq!(
        (key.writes, key.private_writes),
        (Some(WritePolicy::Failover), Some(false))
    );
}
