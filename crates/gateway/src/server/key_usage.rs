//! Warns of shared keys that have come to half of what they may encipher.
//!
//! The rule kept here: each is told of once, and again only after another key took its place.

use crate::config::direction::Direction;
use crate::route::routes::Routes;

/// The part of its limit from which on a key is told of: as much time again is left to replace it.
const HALF: f64 = 0.5;

/// The shared keys that were told of.
#[derive(Default)]
pub(crate) struct KeyUsageWarnings(Vec<(String, Direction)>);

impl KeyUsageWarnings {
    /// Writes into the log what should be known of the keys of these routes.
    pub(crate) fn tell(&mut self, routes: &Routes) {
        let sides = routes.iter().flat_map(|route| {
            let inbound = route.inbound.as_ref();
            let inbound = inbound.and_then(|side| side.endpoint.shared_key_usage());
            let outbound = route.outbound();
            let outbound = outbound.and_then(|side| side.endpoint.shared_key_usage());
            let used = [
                (Direction::Inbound, inbound),
                (Direction::Outbound, outbound),
            ];
            used.into_iter()
                .filter_map(|(which, usage)| Some((route.name.clone(), which, usage?.ratio())))
        });
        for (route, side, ratio) in self.new_of(sides.collect()) {
            tracing::warn!(
                route,
                direction = side.name(),
                "the shared key has enciphered {:.0} % of what it may: give both sides a new one",
                ratio * 100.0
            );
        }
    }

    /// The keys above half of their limit that were not told of before.
    fn new_of(&mut self, keys: Vec<(String, Direction, f64)>) -> Vec<(String, Direction, f64)> {
        let above: Vec<_> = keys.into_iter().filter(|key| key.2 >= HALF).collect();
        let known = std::mem::replace(
            &mut self.0,
            above.iter().map(|key| (key.0.clone(), key.1)).collect(),
        );
        above
            .into_iter()
            .filter(|(route, side, _)| !known.contains(&(route.clone(), *side)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_told_of_at_half_of_its_limit_once_and_another_one_in_its_place_again() {
        let mut warnings = KeyUsageWarnings::default();
        let mut told = |ratio| {
            let keys = vec![
                ("books".to_owned(), Direction::Inbound, ratio),
                ("other".to_owned(), Direction::Inbound, 0.1),
            ];
            warnings.new_of(keys)
        };
        let books = |ratio| vec![("books".to_owned(), Direction::Inbound, ratio)];
        assert_eq!(told(0.49), []);
        assert_eq!(told(0.5), books(0.5));
        assert_eq!(told(0.9), []);
        assert_eq!(told(0.0), []);
        assert_eq!(told(0.6), books(0.6));
    }
}
