//! stub
use crate::Now; use std::time::{Duration,Instant};
#[derive(Debug)] pub struct Account;
#[allow(missing_docs)]
impl Account { pub fn unlimited()->Self{Self} pub fn available(&self,_:Now)->bool{true} pub fn wait(&self,_:Now)->Duration{Duration::ZERO} pub fn take(&self,_:Now)->bool{true} pub fn spend_units(&self,_:u32,_:std::time::SystemTime){} pub fn burn(&self,_:std::time::SystemTime)->f64{0.0} pub fn on_clean(&self,_:Instant){} pub fn on_rate_limited(&self,_:Instant){} pub fn tokens(&self,_:Now)->Option<u64>{None}}
