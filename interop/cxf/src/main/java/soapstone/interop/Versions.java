package soapstone.interop;

import org.apache.cxf.version.Version;

/** What a measurement was made with. */
final class Versions {
    private Versions() {
    }

    /** As one line of JSON. */
    static String line() {
        return "{\"exit\":0,\"version\":\"" + Version.getCurrentVersion() + " on Java " + Runtime.version() + "\"}";
    }
}
