//! `profile = "…"`: what a published profile decides of `security` and `answers`, in the place of a
//! mechanism or a policy file.
//!
//! A profile is a text of an endpoint file, and a policy where a mechanism cannot say it. Its keys
//! are put into the tables that name it before anything reads them, so that plans come about as
//! from any other file. The rule kept here: what a profile decides cannot be changed beside it.

use super::problem::Place;
use super::tree::{Entry, Tree, Value};

/// A profile.
pub(super) struct Profile {
    /// Its name in endpoint files.
    pub(super) name: &'static str,
    /// The keys that it decides, with the clause of each choice.
    keys: &'static str,
    /// Its policy; none, where its keys name a mechanism.
    pub(super) policy: Option<&'static str>,
}

impl Profile {
    const fn of_mechanism(name: &'static str, keys: &'static str) -> Self {
        let policy = None;
        Self { name, keys, policy }
    }

    const fn of_policy(name: &'static str, keys: &'static str, policy: &'static str) -> Self {
        let policy = Some(policy);
        Self { name, keys, policy }
    }

    fn named(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }
}

/// All of them.
pub(super) static PROFILES: [Profile; 14] = [
    Profile::of_mechanism(
        "digikoppeling-2w-be-s",
        include_str!("profiles/digikoppeling-2w-be-s.toml"),
    ),
    Profile::of_mechanism(
        "digikoppeling-2w-be-se",
        include_str!("profiles/digikoppeling-2w-be-se.toml"),
    ),
    Profile::of_mechanism("face", include_str!("profiles/face.toml")),
    Profile::of_mechanism("sat", include_str!("profiles/sat.toml")),
    Profile::of_policy(
        "dian",
        include_str!("profiles/dian.toml"),
        include_str!("profiles/dian.xml"),
    ),
    Profile::of_mechanism("eet", include_str!("profiles/eet.toml")),
    Profile::of_mechanism("sunat", include_str!("profiles/sunat.toml")),
    Profile::of_mechanism("onvif", include_str!("profiles/onvif.toml")),
    Profile::of_mechanism("nordic-bank", include_str!("profiles/nordic-bank.toml")),
    Profile::of_policy(
        "wcf-mutual-certificate",
        include_str!("profiles/wcf-mutual-certificate.toml"),
        include_str!("profiles/wcf-mutual-certificate.xml"),
    ),
    Profile::of_policy(
        "wcf-ws-http",
        include_str!("profiles/wcf-ws-http.toml"),
        include_str!("profiles/wcf-ws-http.xml"),
    ),
    Profile::of_policy(
        "rampart",
        include_str!("profiles/rampart.toml"),
        include_str!("profiles/rampart.xml"),
    ),
    Profile::of_mechanism("sosi", include_str!("profiles/sosi.toml")),
    Profile::of_mechanism("dgws", include_str!("profiles/dgws.toml")),
];

/// Puts the keys of profiles into the tables that name one. The result lists the keys that are
/// given beside a profile that decides them.
pub(super) fn expand(tree: &mut Tree) -> Vec<(Place, String)> {
    let mut given = Vec::new();
    if let Some((profile, place)) = profile_of(tree) {
        let (keys, _) = Tree::parse(profile.keys);
        merge(tree, keys, profile.name, place, &mut given);
    }
    for entry in &mut tree.entries {
        match &mut entry.value {
            Value::Table(inner) => given.extend(expand(inner)),
            Value::Array(items) => {
                for (item, _) in items {
                    if let Value::Table(inner) = item {
                        given.extend(expand(inner));
                    }
                }
            }
            _ => {}
        }
    }
    given
}

/// The profile that the table `security` of an endpoint names, if that is all that it names.
fn profile_of(endpoint: &Tree) -> Option<(&'static Profile, Place)> {
    let Value::Table(security) = &endpoint.entry("security")?.value else {
        return None;
    };
    let entry = security.entry("profile")?;
    let Value::Text(name) = &entry.value else {
        return None;
    };
    let names_another = ["mechanism", "policy"]
        .iter()
        .any(|key| security.entry(key).is_some());
    let profile = Profile::named(name).filter(|_| !names_another);
    profile.map(|profile| (profile, entry.place))
}

/// Adds the entries of a profile to a table, as if all of them were at `place`.
fn merge(tree: &mut Tree, keys: Tree, name: &str, place: Place, given: &mut Vec<(Place, String)>) {
    for entry in keys.entries {
        let known = tree.entries.iter_mut().find(|it| it.key == entry.key);
        match (known, entry.value) {
            (None, value) => tree.entries.push(Entry {
                key: entry.key,
                key_place: place,
                value: moved(value, place),
                place,
            }),
            (Some(known), Value::Table(inner)) if matches!(known.value, Value::Table(_)) => {
                if let Value::Table(table) = &mut known.value {
                    merge(table, inner, name, place, given);
                }
            }
            (Some(known), _) => given.push((
                known.key_place,
                format!(
                    "`{}` is given beside the profile `{name}`, which decides it",
                    entry.key
                ),
            )),
        }
    }
}

/// A value with all of its places at that of the profile's name.
fn moved(value: Value, place: Place) -> Value {
    match value {
        Value::Table(tree) => Value::Table(Tree {
            entries: tree
                .entries
                .into_iter()
                .map(|entry| Entry {
                    value: moved(entry.value, place),
                    key_place: place,
                    place,
                    ..entry
                })
                .collect(),
        }),
        Value::Array(items) => {
            let items = items.into_iter();
            Value::Array(items.map(|(item, _)| (moved(item, place), place)).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_every_profile_are_toml() {
        for profile in &PROFILES {
            let (tree, errors) = Tree::parse(profile.keys);
            assert!(errors.is_empty(), "{}: {errors:?}", profile.name);
            let Some(Value::Table(security)) = tree.entry("security").map(|it| &it.value) else {
                panic!("{}: no [security]", profile.name);
            };
            let has_mechanism = security.entry("mechanism").is_some();
            assert_eq!(has_mechanism, profile.policy.is_none(), "{}", profile.name);
        }
    }
}
