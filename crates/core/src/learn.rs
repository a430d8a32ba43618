//! stub
use std::time::Instant; use crate::classify::SuggestedRange;
#[derive(Debug,Clone,Copy,PartialEq,Default)] #[allow(missing_docs)] pub struct Need{pub height:Option<u64>,pub lowest:Option<u64>,pub span:Option<u64>,pub kind:Kind}
#[derive(Debug,Clone,Copy,PartialEq,Default)] #[allow(missing_docs)] pub enum Kind{#[default]State}
#[allow(missing_docs)] impl Need{ pub fn is_state(&self)->bool{true} pub fn of(_:&'static crate::method::Descriptor,_:crate::jsonrpc::Params<'_>)->Self{Self::default()} }
#[derive(Debug,Clone,Default)] #[allow(missing_docs)] pub struct Learned;
#[allow(missing_docs)] impl Learned{ pub fn max_log_range(&self,_:Instant)->Option<u64>{None} pub fn keeps(&self,_:Kind,_:u64,_:Instant)->bool{true} pub fn on_served(&mut self,_:&Need,_:Instant){} pub fn on_missing(&mut self,_:&Need,_:Instant){} pub fn on_range_limit(&mut self,_:&Need,_:Option<&SuggestedRange>,_:Instant){} }
