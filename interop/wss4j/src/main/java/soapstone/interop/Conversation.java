package soapstone.interop;

import java.nio.charset.StandardCharsets;

/** The conversation of the benchmark: it was established before, and its key is no secret. */
final class Conversation {
    static final String IDENTIFIER = "urn:uuid:00000000-0000-4000-8000-000000000000";
    static final byte[] SECRET = "thirty-two octets of no secrecy.".getBytes(StandardCharsets.US_ASCII);
    /** Bits of derived signature keys (PSha1L192). */
    static final int SIGNATURE_BITS = 192;

    private Conversation() {
    }
}
