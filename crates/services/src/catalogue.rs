//! The books: 25,000 rows with their authors and publishers, generated, the same on every machine.
//!
//! The database is filled from this catalogue, and `?source=memory` answers from it directly. The
//! one rule it keeps: it depends on nothing but its seed, so that an answer is the same byte for
//! byte whatever holds the rows.

use std::sync::OnceLock;

use crate::words::{
    ADJECTIVES, FAMILY_NAMES, GIVEN_NAMES, NOUNS, PLACES, PUBLISHER_KINDS, PUBLISHER_NAMES, Random,
    SUBJECTS, pair,
};

/// How many books there are: the largest `n` of `getBooks`.
pub const BOOKS: u32 = 25_000;
/// How many authors wrote them.
pub const AUTHORS: u32 = 3_000;
/// How many publishers published them.
pub const PUBLISHERS: u32 = 200;

const SEED: u64 = 0x0050_A950_7E00_0001;

/// One book joined with its author and publisher: a row of an answer, borrowed from wherever the
/// rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Book<'a> {
    /// Key of the book, from 1.
    pub id: u32,
    /// ISBN-13 without hyphens, valid check digit, in a range (979-9) that no real book has.
    pub isbn: &'a str,
    /// Title; may hold characters that XML must escape.
    pub title: &'a str,
    /// Price in cents.
    pub price: u32,
    /// Year of publication.
    pub year: u32,
    /// Key of the author, from 1.
    pub author_id: u32,
    /// The author's name.
    pub author: &'a str,
    /// Key of the publisher, from 1.
    pub publisher_id: u32,
    /// The publisher's name.
    pub publisher: &'a str,
}

struct Row {
    isbn: String,
    title: String,
    price: u32,
    year: u32,
    author_id: u32,
    publisher_id: u32,
}

/// All rows, in memory.
pub struct Catalogue {
    authors: Vec<String>,
    publishers: Vec<String>,
    books: Vec<Row>,
}

impl Catalogue {
    /// The catalogue, generated when first asked for (some milliseconds).
    pub fn shared() -> &'static Catalogue {
        static SHARED: OnceLock<Catalogue> = OnceLock::new();
        SHARED.get_or_init(Catalogue::generate)
    }

    fn generate() -> Catalogue {
        let mut random = Random::seeded(SEED);
        let authors = (0..AUTHORS as usize)
            .map(|index| {
                let (given, family) = pair(index, GIVEN_NAMES, FAMILY_NAMES);
                format!("{given} {family}")
            })
            .collect();
        let publishers = (0..PUBLISHERS as usize)
            .map(|index| {
                let (name, kind) = pair(index, PUBLISHER_NAMES, PUBLISHER_KINDS);
                format!("{name} {kind}")
            })
            .collect();
        let books = (1..=BOOKS)
            .map(|id| Row {
                isbn: isbn(id),
                title: title(&mut random),
                price: price(&mut random),
                year: 1950 + random.below(77),
                author_id: 1 + random.below(AUTHORS),
                publisher_id: 1 + random.below(PUBLISHERS),
            })
            .collect();
        Catalogue {
            authors,
            publishers,
            books,
        }
    }

    /// The first `count` books by id; all of them if there are fewer.
    pub fn books(&self, count: u32) -> impl Iterator<Item = Book<'_>> {
        (1..)
            .zip(&self.books)
            .take(count as usize)
            .map(|(id, row)| Book {
                id,
                isbn: &row.isbn,
                title: &row.title,
                price: row.price,
                year: row.year,
                author_id: row.author_id,
                author: &self.authors[row.author_id as usize - 1],
                publisher_id: row.publisher_id,
                publisher: &self.publishers[row.publisher_id as usize - 1],
            })
    }

    /// Names of the authors; the first has id 1.
    pub fn authors(&self) -> &[String] {
        &self.authors
    }

    /// Names of the publishers; the first has id 1.
    pub fn publishers(&self) -> &[String] {
        &self.publishers
    }
}

fn isbn(id: u32) -> String {
    // Multiplying by a number coprime to the modulus scatters the ids and keeps them distinct.
    let item = (u64::from(id) * 48_271) % 100_000_000;
    let mut isbn = format!("9799{item:08}");
    let weighted: u32 = isbn
        .bytes()
        .zip([1, 3].into_iter().cycle())
        .map(|(digit, weight)| u32::from(digit - b'0') * weight)
        .sum();
    isbn.push(char::from(b'0' + ((10 - weighted % 10) % 10) as u8));
    isbn
}

fn price(random: &mut Random) -> u32 {
    let whole = 4 + random.below(90);
    let cents = [0, 50, 90, 95, 99][random.below(5) as usize];
    whole * 100 + cents
}

fn title(random: &mut Random) -> String {
    match random.below(8) {
        0 => format!("The {} {}", random.pick(ADJECTIVES), random.pick(NOUNS)),
        1 => format!(
            "The {} of the {} {}",
            random.pick(NOUNS),
            random.pick(ADJECTIVES),
            random.pick(NOUNS)
        ),
        2 => format!("{} & {}", random.pick(NOUNS), random.pick(NOUNS)),
        3 => format!(
            "The {}'s {}: A Novel of {}",
            random.pick(NOUNS),
            random.pick(NOUNS),
            random.pick(PLACES)
        ),
        4 => format!("A Short History of {}", random.pick(SUBJECTS)),
        5 => format!(
            "{} in {}, {} to {}",
            random.pick(SUBJECTS),
            random.pick(PLACES),
            1500 + random.below(200),
            1700 + random.below(200)
        ),
        6 => format!(
            "{} for Beginners, {} Edition",
            random.pick(SUBJECTS),
            random.pick(&["First", "Second", "Third", "Fourth", "Fifth"])
        ),
        _ => format!(
            "\u{201c}{} {}\u{201d} and Other Stories from {}",
            random.pick(ADJECTIVES),
            random.pick(NOUNS),
            random.pick(PLACES)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_catalogue_is_the_same_whenever_it_is_generated() {
        let (one, other) = (Catalogue::generate(), Catalogue::generate());
        assert!(one.books(BOOKS).eq(other.books(BOOKS)));
        assert_eq!(one.books(BOOKS).count(), BOOKS as usize);
    }

    #[test]
    fn every_isbn_is_distinct_and_its_check_digit_is_right() {
        let catalogue = Catalogue::shared();
        let mut seen = HashSet::new();
        for book in catalogue.books(BOOKS) {
            let weighted: u32 = book
                .isbn
                .bytes()
                .zip([1, 3].into_iter().cycle())
                .map(|(digit, weight)| u32::from(digit - b'0') * weight)
                .sum();
            assert_eq!((book.isbn.len(), weighted % 10), (13, 0), "{}", book.isbn);
            assert!(seen.insert(book.isbn), "{} occurs twice", book.isbn);
        }
    }

    #[test]
    fn titles_need_escaping_and_hold_more_than_ascii_now_and_then() {
        let titles: Vec<_> = Catalogue::shared().books(1_000).map(|b| b.title).collect();
        assert!(titles.iter().any(|title| title.contains('&')));
        assert!(titles.iter().any(|title| title.contains('\'')));
        assert!(titles.iter().any(|title| !title.is_ascii()));
    }

    #[test]
    fn authors_and_publishers_do_not_repeat() {
        let catalogue = Catalogue::shared();
        let authors: HashSet<_> = catalogue.authors().iter().collect();
        let publishers: HashSet<_> = catalogue.publishers().iter().collect();
        assert_eq!(authors.len(), AUTHORS as usize);
        assert_eq!(publishers.len(), PUBLISHERS as usize);
    }
}
