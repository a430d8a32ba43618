//! A small contract, assembled by hand, with one function of each kind a client meets.
//!
//! ```text
//! function get() view returns (uint256)
//! function set(uint256 value)              emits Changed(address indexed who, uint256 value)
//! function fail() view                     reverts with Error("the cell is locked")
//! ```
//!
//! Anything else reverts without data. The value lives in storage slot 0.
//!
//! ```text
//! creation
//! 00  PUSH1 91  DUP1  PUSH1 09  PUSH0  CODECOPY      copy the 0x91 bytes behind these 9
//! 07  PUSH0  RETURN                                  and give them as the contract's code
//!
//! runtime
//! 00  PUSH0  CALLDATALOAD  PUSH1 e0  SHR             the selector
//! 05  DUP1  PUSH4 6d4ce63c  EQ  PUSH1 26  JUMPI      get()
//! 0f  DUP1  PUSH4 60fe47b1  EQ  PUSH1 2f  JUMPI      set(uint256)
//! 19  DUP1  PUSH4 a9cc4718  EQ  PUSH1 5f  JUMPI      fail()
//! 23  PUSH0  PUSH0  REVERT
//! 26  JUMPDEST  PUSH0  SLOAD  PUSH0  MSTORE          get: slot 0 to memory
//! 2b  PUSH1 20  PUSH0  RETURN
//! 2f  JUMPDEST  PUSH1 04  CALLDATALOAD               set: the argument
//! 33  DUP1  PUSH0  SSTORE  PUSH0  MSTORE             to slot 0 and to memory
//! 38  CALLER  PUSH32 b52dda02…5946                   topics: who, Changed(address,uint256)
//! 5a  PUSH1 20  PUSH0  LOG2  STOP
//! 5f  JUMPDEST  PUSH4 08c379a0  PUSH1 e0  SHL        fail: the selector of Error(string)
//! 68  PUSH0  MSTORE
//! 6a  PUSH1 20  PUSH1 04  MSTORE                     offset of the string
//! 6f  PUSH1 12  PUSH1 24  MSTORE                     its length, 18
//! 74  PUSH18 "the cell is locked"  PUSH1 70  SHL     its bytes, to the left of the word
//! 8a  PUSH1 44  MSTORE
//! 8d  PUSH1 64  PUSH0  REVERT
//! ```

/// What a creating transaction carries.
pub const CELL_CREATION: &str = "0x60918060095f395ff3\
    5f3560e01c80636d4ce63c14602657806360fe47b114602f578063a9cc471814605f575f5ffd\
    5b5f545f5260205ff35b600435805f555f52337fb52dda022b6c1a1f40905a85f257f689aa5d69d8\
    50e49cf939d688fbe5af594660205fa2005b6308c379a060e01b5f5260206004526012602452\
    717468652063656c6c206973206c6f636b656460701b60445260645ffd";

/// What `eth_getCode` answers once it is there.
pub const CELL_RUNTIME: &str = "0x\
    5f3560e01c80636d4ce63c14602657806360fe47b114602f578063a9cc471814605f575f5ffd\
    5b5f545f5260205ff35b600435805f555f52337fb52dda022b6c1a1f40905a85f257f689aa5d69d8\
    50e49cf939d688fbe5af594660205fa2005b6308c379a060e01b5f5260206004526012602452\
    717468652063656c6c206973206c6f636b656460701b60445260645ffd";

/// Selector of `get()`.
pub const GET: &str = "0x6d4ce63c";

/// Selector of `set(uint256)`; a 32-byte word follows.
pub const SET: &str = "0x60fe47b1";

/// Selector of `fail()`.
pub const FAIL: &str = "0xa9cc4718";

/// The reason `fail()` gives.
pub const CELL_REASON: &str = "the cell is locked";

/// Topic 0 of `Changed(address,uint256)`.
pub const CHANGED_TOPIC: &str =
    "0xb52dda022b6c1a1f40905a85f257f689aa5d69d850e49cf939d688fbe5af5946";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creation_is_a_nine_byte_prefix_before_the_runtime() {
        let runtime = CELL_RUNTIME.strip_prefix("0x").unwrap();
        assert_eq!(runtime.len(), 2 * 0x91);
        assert_eq!(CELL_CREATION, format!("0x60918060095f395ff3{runtime}"));
        assert!(runtime.contains(CHANGED_TOPIC.strip_prefix("0x").unwrap()));
    }
}
