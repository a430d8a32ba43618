//! Chain checks around a call.

use super::*;

//
#[test]
fn checks_an_endpoint_before_its_first_call_without_spending_an_attempt() {
    let mut bench = Setup::new(1).unchecked().call("eth_call");
    assert_eq!(
        bench.poll(),
        Action::Check {
            endpoint: A,
            timeout: ATTEMPT
        }
    );
    assert_eq!(bench.waits(), DEADLINE);
    bench.passes(A);
    bench.machine.on_check(A, None);
    bench.sends_to(A, FIRST);
    assert_eq!(bench.machine.attempts(), 1);
}
