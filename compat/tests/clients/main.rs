//! Programs written with viem, ethers and web3.py, through the gateway.

mod operations;
mod world;
