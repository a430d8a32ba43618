//! Calls that come within a short time of each other.

use super::{Folded, Group, Item, exchange::exchange};
use crate::{inner::Inner, node::Node};
use highwater_core::method::Lane;
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};

/// The groups that are open now.
#[derive(Default)]
pub(crate) struct Windows(Mutex<Open>);

#[derive(Default)]
struct Open {
    next: u64,
    groups: Vec<(u64, Group)>,
}

impl Windows {
    /// Takes a call in. The first of a group opens a window; when it closes, or when the group is full,
    /// the group is sent.
    pub(crate) fn add(
        pool: &Arc<Inner>,
        node: &Arc<Node>,
        lane: Lane,
        limit: usize,
        window: Duration,
        (item, attempt): (Item, Folded),
    ) -> Folded {
        let mut open = pool.windows.0.lock();
        let place = open
            .groups
            .iter()
            .position(|(_, group)| group.is_for(node, lane));
        let (place, is_new) = match place {
            Some(place) => (place, false),
            None => {
                let number = open.next;
                open.next += 1;
                let group = Group::new(Arc::clone(node), lane, limit);
                open.groups.push((number, group));
                (open.groups.len() - 1, true)
            }
        };
        let (number, group) = &mut open.groups[place];
        let number = *number;
        group.push(item, limit);
        if group.is_full() {
            let (_, group) = open.groups.swap_remove(place);
            drop(open);
            let pool = Arc::downgrade(pool);
            tokio::spawn(async move { exchange(&pool, group).await });
        } else if is_new {
            drop(open);
            let pool = Arc::downgrade(pool);
            tokio::spawn(async move {
                tokio::time::sleep(window).await;
                let group = pool.upgrade().and_then(|pool| pool.windows.take(number));
                if let Some(group) = group {
                    exchange(&pool, group).await;
                }
            });
        }
        attempt
    }

    fn take(&self, number: u64) -> Option<Group> {
        let mut open = self.0.lock();
        let place = open.groups.iter().position(|(own, _)| *own == number)?;
        Some(open.groups.swap_remove(place).1)
    }
}
