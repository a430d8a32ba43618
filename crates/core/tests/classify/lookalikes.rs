use super::{built_in, entries, judge};

// X17: good answers that look like errors have no class.
#[test]
fn takes_no_good_answer_for_an_error() {
    let classifier = built_in();
    let mut lines = 0;
    for entry in entries(include_str!("../data/lookalikes.jsonl")) {
        lines += 1;
        let got = judge(&classifier, &entry);
        assert!(
            got["class"].is_null(),
            "{}: {} became {}",
            entry["id"],
            entry["body"],
            got["class"]
        );
        assert_eq!(got["counts_against_endpoint"], false, "{}", entry["id"]);
        assert!(got["retry_after_ms"].is_null(), "{}", entry["id"]);
    }
    println!("{lines} look-alikes");
    assert!(lines >= 60);
}
