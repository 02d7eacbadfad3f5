//! How many cases the vectors directory holds, known without it.
//!
//! `outside.txt` has a line for each kind of each suite. A test compares it with the directory
//! where that is there (`tests/vectors.rs`).

/// The cases of one kind in one suite of the vectors directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The folder of the suite.
    pub suite: String,
    /// What is to be done with them.
    pub kind: String,
    /// How many there are.
    pub cases: usize,
}

/// The whole table.
///
/// # Panics
/// If a line has another form than `suite kind cases`.
pub fn rows() -> Vec<Row> {
    let lines = include_str!("outside.txt").lines();
    lines
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let [suite, kind, cases] = words[..] else {
                panic!("`{line}` is not `suite kind cases`");
            };
            Row {
                suite: suite.to_owned(),
                kind: kind.to_owned(),
                cases: cases.parse().expect("a number of cases"),
            }
        })
        .collect()
}
