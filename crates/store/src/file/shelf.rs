//! Entries of the file with the moments at which they end, so that what ended first goes first.

use redb::{ReadableTable, StorageError, Table, TableDefinition, WriteTransaction};

use super::failure::Failure;

/// Keys by their end.
pub(super) type Ends<'t> = TableDefinition<'t, (i64, &'static [u8; 32]), ()>;
type EndsTable<'t> = Table<'t, (i64, &'static [u8; 32]), ()>;

/// Marks with their ends, by one clock.
pub(super) struct Shelf<'t> {
    pub(super) marks: Table<'t, &'static [u8; 32], i64>,
    ends: EndsTable<'t>,
    /// The present by that clock.
    pub(super) now: i64,
}

impl<'t> Shelf<'t> {
    pub(super) fn open(
        transaction: &'t WriteTransaction,
        (marks, ends): (TableDefinition<'_, &'static [u8; 32], i64>, Ends<'_>),
        now: i64,
    ) -> Result<Self, Failure> {
        Ok(Self {
            marks: transaction.open_table(marks)?,
            ends: transaction.open_table(ends)?,
            now,
        })
    }

    pub(super) fn holds(&self, key: &[u8; 32]) -> Result<bool, StorageError> {
        let until = self.marks.get(key)?.map(|until| until.value());
        Ok(until.is_some_and(|until| until > self.now))
    }

    /// Puts a mark there, and says when one ended that was there.
    pub(super) fn put(&mut self, key: &[u8; 32], until: i64) -> Result<Option<i64>, StorageError> {
        let before = self.marks.insert(key, until)?.map(|until| until.value());
        if let Some(before) = before {
            self.ends.remove((before, key))?;
        }
        self.ends.insert((until, key), ())?;
        Ok(before)
    }

    /// Drops so many of the marks that end by `last`.
    pub(super) fn clear(
        &mut self,
        last: i64,
        most: usize,
        note: &mut impl FnMut(i64),
    ) -> Result<(), StorageError> {
        let Self { marks, ends, .. } = self;
        clear(ends, last, most, |key, until| {
            note(until);
            marks.remove(key).map(drop)
        })
    }

    /// Drops all marks that end later than `last`.
    pub(super) fn clear_ahead(
        &mut self,
        last: i64,
        note: &mut impl FnMut(i64),
    ) -> Result<(), StorageError> {
        loop {
            let latest = self.ends.last()?.map(|(end, _)| {
                let (until, key) = end.value();
                (until, *key)
            });
            let Some((until, key)) = latest.filter(|(until, _)| *until > last) else {
                return Ok(());
            };
            self.ends.remove((until, &key))?;
            self.marks.remove(&key)?;
            note(until);
        }
    }
}

/// Drops so many of the expired entries, those that ended first.
pub(super) fn clear(
    ends: &mut EndsTable<'_>,
    now: i64,
    most: usize,
    mut drop: impl FnMut(&[u8; 32], i64) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    for _ in 0..most {
        let first = ends.first()?.map(|(first, _)| {
            let (until, key) = first.value();
            (until, *key)
        });
        match first {
            Some((until, key)) if until <= now => {
                ends.remove((until, &key))?;
                drop(&key, until)?;
            }
            _ => break,
        }
    }
    Ok(())
}
