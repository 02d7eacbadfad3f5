//! Every number that stands in the lab, written down a second time, so that no digit changes in one
//! place alone.
//!
//! The rule kept here: rows of tables are those of the papers' tables, and all other numbers stand
//! one by one.

/// Paper, source, row, and the cells of the row from left to right.
pub(super) type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

/// Tables.
pub(super) const TABLES: &[Row] = &[
    ("rodrigues2011", "table-1", "1", &["5"]),
    ("rodrigues2011", "table-1", "2", &["5"]),
    ("rodrigues2011", "table-1", "3", &["5"]),
    ("rodrigues2011", "table-1", "4", &["5"]),
    ("rodrigues2011", "table-1", "5", &["10"]),
    ("rodrigues2011", "table-1", "6", &["10"]),
    ("rodrigues2011", "table-1", "7", &["10"]),
    ("rodrigues2011", "table-1", "8", &["10"]),
    (
        "rodrigues2011",
        "table-2",
        "No Security",
        &["283.68", "38.02154017", "13.6055834"],
    ),
    (
        "rodrigues2011",
        "table-2",
        "Enc",
        &["2861.31", "77.99662214", "27.91021991"],
    ),
    (
        "rodrigues2011",
        "table-2",
        "Sign",
        &["1547.76", "62.12568795", "22.23098341"],
    ),
    (
        "rodrigues2011",
        "table-2",
        "Sign and Enc",
        &["3094.20", "73.42715276", "26.27508634"],
    ),
    (
        "rodrigues2011",
        "table-3",
        "No Security",
        &["482.59", "36.04660154", "12.89887368"],
    ),
    (
        "rodrigues2011",
        "table-3",
        "Enc",
        &["5877.78", "138.3788438", "49.51732339"],
    ),
    (
        "rodrigues2011",
        "table-3",
        "Sign",
        &["3100.42", "90.63035452", "32.43105991"],
    ),
    (
        "rodrigues2011",
        "table-3",
        "Sign and Enc",
        &["6038.10", "129.2029255", "46.23382355"],
    ),
    ("rodrigues2011", "table-4", "No Security", &["283.68"]),
    ("rodrigues2011", "table-4", "Enc", &["2861.31", "908.64"]),
    ("rodrigues2011", "table-4", "Sign", &["1547.76", "445.60"]),
    (
        "rodrigues2011",
        "table-4",
        "Sign and Enc",
        &["3094.20", "990.74"],
    ),
    ("rodrigues2011", "table-5", "No Security", &["482.59"]),
    ("rodrigues2011", "table-5", "Enc", &["5877.78", "1117.97"]),
    ("rodrigues2011", "table-5", "Sign", &["3100.42", "542.45"]),
    (
        "rodrigues2011",
        "table-5",
        "Sign and Enc",
        &["6038.10", "1151.19"],
    ),
    (
        "shopov2007",
        "table-1",
        "scenario1",
        &["0.23", "0.24", "1.04"],
    ),
    (
        "shopov2007",
        "table-1",
        "scenario2",
        &["0.056", "0.173", "0.131", "0.202", "0.32", "0.2", "0.338"],
    ),
    (
        "shopov2007",
        "table-1",
        "scenario3",
        &["0.085", "0.149", "0.53", "0.143", "0.154", "0.187", "0.43"],
    ),
    (
        "shopov2007",
        "table-1",
        "scenario4",
        &["0.123", "0.228", "0.391", "0.21", "0.234", "0.428", "0.506"],
    ),
    (
        "shopov2007",
        "table-2",
        "scenario2",
        &["3370", "1950", "57.86"],
    ),
    (
        "shopov2007",
        "table-2",
        "scenario3",
        &["2063", "1207", "58.51"],
    ),
    (
        "shopov2007",
        "table-2",
        "scenario4",
        &["4907", "3833", "78.11"],
    ),
    (
        "mchale2012",
        "table-1",
        "Database (plain)",
        &["109", "124", "296", "1,109"],
    ),
    (
        "mchale2012",
        "table-1",
        "Database (WS-Security)",
        &["93", "985", "1,593", "8,832"],
    ),
    (
        "mchale2012",
        "table-1",
        "No database (plain)",
        &["1", "47", "109", "390"],
    ),
    (
        "mchale2012",
        "table-1",
        "No database (WS-Security)",
        &["62", "735", "1,203", "6,523"],
    ),
    (
        "novakouski2010",
        "table-1",
        "Average",
        &["3", "8", "38", "36", "65", "65", "39"],
    ),
    (
        "novakouski2010",
        "table-1",
        "Median",
        &["3", "7", "37", "36", "64", "65", "38"],
    ),
    (
        "novakouski2010",
        "table-1",
        "Std. Dev",
        &[
            "0.696", "1.862", "2.814", "2.218", "3.332", "3.117", "3.682",
        ],
    ),
    (
        "novakouski2010",
        "table-2",
        "Average",
        &["100", "106", "174", "157", "197", "190", "228"],
    ),
    (
        "novakouski2010",
        "table-2",
        "Median",
        &["100", "105", "173", "156", "196", "190", "237"],
    ),
    (
        "novakouski2010",
        "table-2",
        "Std. Dev.",
        &[
            "5.298", "6.115", "8.376", "7.847", "9.673", "7.494", "23.483",
        ],
    ),
    (
        "novakouski2010",
        "table-3",
        "Minimum",
        &["3.00", "10.00", "42.00", "42.00", "71.00", "71.00", "41.00"],
    ),
    (
        "novakouski2010",
        "table-3",
        "Average @ 117kb",
        &[
            "29.55", "47.45", "108.18", "163.64", "216.18", "212.45", "130.00",
        ],
    ),
    (
        "novakouski2010",
        "table-3",
        "Increase",
        &[
            "884.85", "374.55", "157.58", "289.61", "204.48", "199.23", "217.07",
        ],
    ),
    (
        "novakouski2010",
        "table-4",
        "Convergence Point",
        &["22", "505", "883", "792", "570", "588", "769"],
    ),
    (
        "novakouski2010",
        "table-5",
        "Convergence Point",
        &["21", "138", "143", "98", "126", "148", "17"],
    ),
    (
        "novakouski2010",
        "table-6",
        "Raw Payload Size",
        &["11", "11", "11", "11", "11", "11"],
    ),
    (
        "novakouski2010",
        "table-6",
        "Request Size",
        &["522", "1396", "3956", "2480", "7511", "7385"],
    ),
    (
        "novakouski2010",
        "table-6",
        "Response Size",
        &["479", "479", "4627", "2677", "8181", "8053"],
    ),
];

/// Figures and passages: paper, source, and the cells of all rows from top to bottom.
pub(super) const PASSAGES: &[(&str, &str, &[&str])] = &[
    (
        "mchale2012",
        "text-1",
        &["up to 100", "up to 1,500", "2 to 7"],
    ),
    ("mchale2012", "text-2", &["1,000", "10,000", "16", "4"]),
    (
        "mchale2012",
        "text-2.2",
        &["15 to 20", "60", "800", "up to 28", "up to 50"],
    ),
    ("mchale2012", "text-2.3", &["about 7", "about 8"]),
    (
        "mchale2012",
        "text-3.1",
        &["about 22", "about 13", "more than 2", "over 40", "12 to 15"],
    ),
    ("mchale2012", "text-4", &["2.3", "4"]),
    (
        "mchale2012",
        "text-4.1",
        &["10", "1,000", "15", "1,500", "10 to 15", "1,000 to 1,500"],
    ),
    ("mchale2012", "text-4.1-plain", &["about 1"]),
    (
        "mchale2012",
        "text-4.2",
        &[
            "11 to 15", "11 to 15", "14 to 19", "14 to 19", "1,000", "1", "100", "20",
        ],
    ),
    ("mchale2012", "text-4.3", &["almost 3", "500", "2", "1.2"]),
    (
        "mchale2012",
        "text-4.4",
        &["11 to 15", "3 to 8", "2501", "5094"],
    ),
    (
        "mchale2012",
        "text-5",
        &["1,000 to 1,500", "300 to 800", "13", "4.5"],
    ),
    ("vanengelen2008", "text-1", &["up to 100", "4", "about 10"]),
    ("vanengelen2008", "text-2.1", &["28", "about 10"]),
    (
        "vanengelen2008",
        "text-2.2",
        &["up to 50", "160", "1e-9", "1e17"],
    ),
    ("vanengelen2008", "text-2.5", &["0.12", "0.88", "88"]),
    (
        "vanengelen2008",
        "text-3.1",
        &["2.33", "2", "667", "100 to 10000"],
    ),
    (
        "vanengelen2008",
        "figure-3",
        &[
            "14.0", "12.0", "15.2", "2.2", "4.8", "40.4", "66.4", "36.7", "27", "14",
        ],
    ),
    ("vanengelen2008", "text-3.2", &["2.7", "10,000"]),
    (
        "vanengelen2008",
        "text-3.3",
        &["3 to 4", "more than 2", "0"],
    ),
    (
        "vanengelen2008",
        "text-3.4",
        &["3", "7", "20 to 35", "2 to 3", "100", "5,000"],
    ),
    (
        "vanengelen2008",
        "figure-6",
        &["0.1", "0.8", "1.6", "34", "0.1", "0.9", "3.3", "40"],
    ),
    (
        "vanengelen2008",
        "figure-6-share",
        &["50", "1.0", "50", "59", "19", "1.0", "45", "20"],
    ),
    (
        "vanengelen2008",
        "figure-6-sizes",
        &["10", "230", "88", "1,066"],
    ),
    ("vanengelen2008", "text-3.5", &["10 to 20"]),
    ("vanengelen2008", "text-4", &["about 10"]),
    (
        "novakouski2010",
        "text-3.4",
        &["10,000", "12", "over 100", "1"],
    ),
    ("novakouski2010", "text-4.1", &["up to 20"]),
    ("novakouski2010", "text-4.1.1", &["about 7"]),
    (
        "novakouski2010",
        "text-4.1.2",
        &[
            "about 2",
            "59",
            "22",
            "12",
            "about 112",
            "about 450",
            "24",
            "60",
            "120",
            "157",
            "174",
        ],
    ),
    ("novakouski2010", "figure-6", &["about 46"]),
    ("novakouski2010", "figure-7", &["about 12", "about 12"]),
    (
        "novakouski2010",
        "text-4.1.2-conclusions",
        &["below 50", "below 10"],
    ),
    (
        "novakouski2010",
        "text-4.1.3",
        &["about 120,000", "about 117", "10"],
    ),
    ("novakouski2010", "text-4.1.4", &["30", "up to 4"]),
    ("novakouski2010", "text-4.2", &["about 4"]),
    ("novakouski2010", "text-4.3", &["25", "50"]),
    ("novakouski2010", "table-7", &["2", "2", "3.6", "3.8"]),
    (
        "shopov2007",
        "text-testbed",
        &["3.00", "1", "100", "4", "1", "100", "1"],
    ),
    ("shopov2007", "text-results", &["101"]),
    ("shopov2007", "text-overhead", &["about 50", "almost 80"]),
    ("shopov2007", "text-tls", &["about 10"]),
    (
        "rodrigues2011",
        "text-3",
        &["1024", "192", "160", "1024", "5"],
    ),
    ("rodrigues2011", "text-3.1", &["2.4", "2", "120", "1"]),
    ("rodrigues2011", "text-3.2", &["3", "2", "8", "30", "240"]),
    (
        "rodrigues2011",
        "text-4.1",
        &["70.12", "105.42", "100.32", "95.14", "up to 10"],
    ),
    ("rodrigues2011", "text-4.2", &["23.04", "21.73", "16.19"]),
    (
        "rodrigues2011",
        "figure-9",
        &["58", "22", "7", "7", "4", "1", "1"],
    ),
];
