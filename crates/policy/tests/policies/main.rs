//! Policies written for these tests: what they compile to, what is refused, and what costs too
//! much.

mod agreements;
mod assertions;
mod attachments;
mod bounds;
mod causes;
mod derived_keys;
mod endorsements;
mod endorsing_contexts;
mod issued;
mod kerberos;
mod key_values;
mod normal_forms;
mod notices;
mod operations;
mod overlooked;
mod password_keys;
mod refusals;
mod security_header;
mod stacks;
mod support;
mod versions;
mod written;
