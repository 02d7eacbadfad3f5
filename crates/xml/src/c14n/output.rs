//! Runs of the source and rewritten pieces, on their way to the sink.
//!
//! Neighbouring ranges of the source grow into one run; long runs are handed over without copying,
//! short ones are collected with the rewritten pieces. The rule: the order of bytes is the order
//! of calls.

use crate::document::Document;
use crate::sink::Sink;
use std::ops::Range;

/// Runs shorter than this are copied: a call of the sink costs more than that.
const SHORT: usize = 512;
/// Collected bytes are handed over when there are this many.
const STAGE: usize = 8 << 10;

pub(super) struct Output<'a> {
    document: &'a Document,
    sink: &'a mut dyn Sink,
    run: Range<u32>,
    staged: Vec<u8>,
    /// Bytes handed over so far.
    written: usize,
}

impl<'a> Output<'a> {
    pub(super) fn new(
        document: &'a Document,
        mut staged: Vec<u8>,
        sink: &'a mut dyn Sink,
    ) -> Output<'a> {
        staged.clear();
        Output {
            document,
            sink,
            run: 0..0,
            staged,
            written: 0,
        }
    }

    /// A range of the source as it is.
    #[inline]
    pub(super) fn source(&mut self, range: Range<u32>) {
        if self.run.end == range.start {
            self.run.end = range.end;
        } else {
            self.end_run();
            self.run = range;
        }
    }

    /// Bytes that are not in the source.
    #[inline]
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.end_run();
        self.staged.extend_from_slice(bytes);
        if self.staged.len() >= STAGE {
            self.hand_over();
        }
    }

    /// Bytes handed over so far; what is on its way is not counted.
    #[inline]
    pub(super) fn written(&self) -> usize {
        self.written
    }

    fn end_run(&mut self) {
        if self.run.is_empty() {
            return;
        }
        let bytes = self.document.octets(self.run.clone());
        self.run = 0..0;
        if bytes.len() < SHORT {
            self.staged.extend_from_slice(bytes);
            if self.staged.len() >= STAGE {
                self.hand_over();
            }
        } else {
            self.hand_over();
            self.written += bytes.len();
            self.sink.write(bytes);
        }
    }

    fn hand_over(&mut self) {
        if !self.staged.is_empty() {
            self.written += self.staged.len();
            self.sink.write(&self.staged);
            self.staged.clear();
        }
    }

    /// Hands over what is left; gives the working memory back.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.end_run();
        self.hand_over();
        self.staged
    }
}
