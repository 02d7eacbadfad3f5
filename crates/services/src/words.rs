//! The words that the sample data is made of, and the generator that picks among them.
//!
//! [`Random`] is SplitMix64: small, seeded, the same on every machine. Whatever is generated from a
//! seed here is part of the contract of the sample services (answers are compared byte for byte
//! between databases and over time), so the one rule is: a change of a word, of their order or of
//! the generator is a change of every answer.

/// SplitMix64 (Steele, Lea, Flood 2014): deterministic numbers for sample data, never for secrets.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`. The bias of the modulo is below 2^-32 for the bounds used here.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (self.next() % u64::from(bound.max(1))) as u32
    }

    /// A number from 0 up to 1, without it.
    pub(crate) fn share(&mut self) -> f64 {
        // As many bits as the fraction of an f64 has.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len() as u32) as usize]
    }
}

/// The `index`th of `first.len() * second.len()` pairs, scattered: neighbours differ in both words
/// and none repeats before all have been given.
pub(crate) fn pair<'w>(index: usize, first: &[&'w str], second: &[&'w str]) -> (&'w str, &'w str) {
    // 7919 is a prime that divides no list length here, so that multiplying by it permutes the
    // pairs.
    let scattered = (index * 7919) % (first.len() * second.len());
    (
        first[scattered % first.len()],
        second[scattered / first.len()],
    )
}

pub(crate) const GIVEN_NAMES: &[&str] = &[
    "Ada",
    "Agnes",
    "Ahmed",
    "Alice",
    "Amara",
    "André",
    "Anna",
    "Arjun",
    "Astrid",
    "Beatriz",
    "Björn",
    "Carlos",
    "Chiara",
    "Clara",
    "Daniel",
    "Diego",
    "Edith",
    "Elena",
    "Emil",
    "Esther",
    "Fatima",
    "Felix",
    "Françoise",
    "Georg",
    "Grace",
    "Hana",
    "Hugo",
    "Ingrid",
    "Isabel",
    "Jakub",
    "Joan",
    "Jürgen",
    "Kenji",
    "Laura",
    "Leila",
    "Lukas",
    "Magda",
    "Marco",
    "María",
    "Miriam",
    "Nadia",
    "Niels",
    "Noor",
    "Olga",
    "Omar",
    "Pavel",
    "Priya",
    "Ravi",
    "Renée",
    "Rosa",
    "Samuel",
    "Sofia",
    "Søren",
    "Tariq",
    "Thomas",
    "Ursula",
    "Victor",
    "Wanda",
    "Yusuf",
    "Zoë",
];

pub(crate) const FAMILY_NAMES: &[&str] = &[
    "Abbott",
    "Adeyemi",
    "Almeida",
    "Andersen",
    "Aydin",
    "Bailey",
    "Baker",
    "Barros",
    "Becker",
    "Bianchi",
    "Brandt",
    "Castillo",
    "Chandra",
    "Conti",
    "Costa",
    "Dahl",
    "Dubois",
    "Eriksen",
    "Farah",
    "Fischer",
    "Flores",
    "Fontaine",
    "Garcia",
    "Gruber",
    "Haddad",
    "Hansen",
    "Hofmann",
    "Horváth",
    "Ibarra",
    "Ito",
    "Jansen",
    "Kaya",
    "Keller",
    "Khan",
    "Kowalski",
    "Kumar",
    "Lange",
    "Larsen",
    "Lefèvre",
    "Lindqvist",
    "Lopes",
    "Marino",
    "Martens",
    "Mbeki",
    "Meyer",
    "Mori",
    "Moreau",
    "Müller",
    "Nakamura",
    "Novák",
    "O'Brien",
    "O'Neill",
    "Okafor",
    "Olsen",
    "Ortega",
    "Park",
    "Pereira",
    "Petrov",
    "Quinn",
    "Ramos",
    "Rossi",
    "Roy",
    "Sato",
    "Schmidt",
    "Silva",
    "Smith",
    "Sørensen",
    "Suzuki",
    "Tanaka",
    "Torres",
    "Vargas",
    "Virtanen",
    "Weber",
    "Wójcik",
    "Yamada",
    "Young",
    "Zhang",
    "Ziegler",
    "Zimmer",
];

pub(crate) const PUBLISHER_NAMES: &[&str] = &[
    "Alder",
    "Anchor",
    "Arch",
    "Beacon",
    "Birch",
    "Bridge",
    "Castle",
    "Cedar",
    "Compass",
    "Crescent",
    "Dolphin",
    "Falcon",
    "Fountain",
    "Garnet",
    "Granite",
    "Harbour",
    "Heron",
    "Horizon",
    "Juniper",
    "Keystone",
    "Lantern",
    "Linden",
    "Magnolia",
    "Meridian",
    "Millstone",
    "North Gate",
    "Oak",
    "Orchard",
    "Pelican",
    "Quarry",
    "Raven",
    "River",
    "Saffron",
    "Sextant",
    "Silver",
    "Sparrow",
    "Summit",
    "Thistle",
    "Tower",
    "Willow",
    "Wren",
];

pub(crate) const PUBLISHER_KINDS: &[&str] =
    &["Press", "Books", "& Sons", "University Press", "Verlag"];

pub(crate) const ADJECTIVES: &[&str] = &[
    "Ancient",
    "Bitter",
    "Blue",
    "Broken",
    "Burning",
    "Distant",
    "Electric",
    "Empty",
    "Endless",
    "Fallen",
    "Forgotten",
    "Frozen",
    "Golden",
    "Hidden",
    "Hollow",
    "Invisible",
    "Last",
    "Little",
    "Lost",
    "Midnight",
    "Northern",
    "Open",
    "Painted",
    "Perfect",
    "Quiet",
    "Red",
    "Restless",
    "Secret",
    "Shallow",
    "Silent",
    "Silver",
    "Sleeping",
    "Slow",
    "Southern",
    "Stolen",
    "Strange",
    "Sunken",
    "Unfinished",
    "Wandering",
    "Winter",
];

pub(crate) const NOUNS: &[&str] = &[
    "Archive",
    "Ballad",
    "Bridge",
    "Café",
    "Cathedral",
    "Clockmaker",
    "Compass",
    "Country",
    "Daughter",
    "Desert",
    "Door",
    "Engine",
    "Field",
    "Fire",
    "Forest",
    "Garden",
    "Harbour",
    "House",
    "Island",
    "Journey",
    "Kingdom",
    "Lantern",
    "Letter",
    "Library",
    "Lighthouse",
    "Machine",
    "Map",
    "Mirror",
    "Mountain",
    "Museum",
    "Night",
    "Ocean",
    "Orchard",
    "Passenger",
    "Portrait",
    "Promise",
    "Question",
    "River",
    "Road",
    "Sea",
    "Season",
    "Shadow",
    "Stone",
    "Storm",
    "Summer",
    "Tower",
    "Train",
    "Valley",
    "Voice",
    "Witness",
];

pub(crate) const PLACES: &[&str] = &[
    "Anatolia",
    "Andalusia",
    "Antwerp",
    "the Arctic",
    "Bohemia",
    "Cairo",
    "Chile",
    "the Danube",
    "Edinburgh",
    "Galicia",
    "Gdańsk",
    "Istanbul",
    "Kerala",
    "Kraków",
    "Kyoto",
    "Lagos",
    "Lisbon",
    "Malmö",
    "Mexico",
    "Naples",
    "Oaxaca",
    "Patagonia",
    "Québec",
    "Riga",
    "São Paulo",
    "Silesia",
    "Tbilisi",
    "Trieste",
    "Valparaíso",
    "Zürich",
];

pub(crate) const SUBJECTS: &[&str] = &[
    "Algebra",
    "Astronomy",
    "Bookbinding",
    "Botany",
    "Bread",
    "Cartography",
    "Chemistry",
    "Chess",
    "Cryptography",
    "Databases",
    "Economics",
    "Geology",
    "Grammar",
    "Logic",
    "Medicine",
    "Metallurgy",
    "Music",
    "Navigation",
    "Optics",
    "Poetry",
    "Probability",
    "Rhetoric",
    "Salt",
    "Shipbuilding",
    "Soap",
    "Statistics",
    "Tea",
    "Thermodynamics",
    "Typography",
    "Weaving",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_generator_is_splitmix64() {
        // The reference implementation's first outputs for seed 1234567.
        let mut random = Random::seeded(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn pairs_do_not_repeat_before_all_have_been_given() {
        let all = GIVEN_NAMES.len() * FAMILY_NAMES.len();
        let distinct: HashSet<_> = (0..all)
            .map(|index| pair(index, GIVEN_NAMES, FAMILY_NAMES))
            .collect();
        assert_eq!(distinct.len(), all);
    }
}
