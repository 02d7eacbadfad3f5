//! Policies and messages that other projects wrote: all cases of the vectors directory that have a policy.

mod algebra;
mod documents;
mod exchanges;
mod manifest;
mod messages;
