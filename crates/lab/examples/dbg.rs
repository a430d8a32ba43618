use highwater_lab::node::Seen;
use highwater_lab::scenario::Scenario;
use highwater_lab::world::*;
use std::time::Duration;
struct W(Routed, Duration, Duration);
impl W {
    fn look(&mut self, at: Duration) {
        if at >= self.1 && at <= self.2 {
            let now = self.0.now(at);
            let v = self.0.router().heads_view(now).unwrap();
            eprintln!(
                "{at:?} ref {:?} bt {:?} maxlag {} {:?}",
                v.reference,
                v.block_time,
                v.max_lag,
                v.endpoints
                    .iter()
                    .map(|e| (e.height, e.age, e.standing))
                    .collect::<Vec<_>>()
            );
        }
    }
}
impl Subject for W {
    fn asked(&mut self, i: &Incoming, at: Duration) -> Vec<Order> {
        self.look(at);
        self.0.asked(i, at)
    }
    fn ended(&mut self, a: u64, s: &Seen, at: Duration) -> Vec<Order> {
        self.look(at);
        self.0.ended(a, s, at)
    }
    fn wake(&mut self, t: u64, at: Duration) -> Vec<Order> {
        self.0.wake(t, at)
    }
    fn left(&mut self, c: u64, at: Duration) -> Vec<Order> {
        self.0.left(c, at)
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let s = Scenario::parse(&text, None).unwrap();
    let ms = |i: usize| Duration::from_millis(a[i].parse().unwrap());
    let mut w = W(Routed::new(&s), ms(2), ms(3));
    let _ = run(&s, &mut w);
}
