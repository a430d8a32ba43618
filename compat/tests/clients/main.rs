//! Programs written with viem, ethers and web3.py, through the gateway.

/// A test of each library for each function that takes one.
macro_rules! with_each_library {
    ($($function:ident)*) => {
        with_each_library!(@ viem Viem $($function)*);
        with_each_library!(@ ethers Ethers $($function)*);
        with_each_library!(@ web3_py Web3Py $($function)*);
    };
    (@ $module:ident $library:ident $($function:ident)*) => {
        mod $module {
            $(
                #[test]
                fn $function() {
                    super::$function(highwater_compat::Library::$library);
                }
            )*
        }
    };
}

mod fault;
mod faults;
mod kill;
mod operations;
mod world;
