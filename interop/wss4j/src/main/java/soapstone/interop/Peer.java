package soapstone.interop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Security;
import java.util.List;

import org.apache.wss4j.common.ext.WSSecurityException;
import org.apache.wss4j.dom.engine.WSSConfig;
import org.apache.wss4j.dom.engine.WSSecurityEngine;
import org.apache.xml.security.parser.XMLParserException;

/**
 * Apache WSS4J (DOM) as a peer program.
 *
 * <pre>
 * secure|open --mechanism M --suite S [--signature A] [--key-reference R] [--encryption-key-reference R]
 *             [--signed LIST] [--encrypted LIST] [--key ours.pem --cert ours.pem] [--peer peer.pem] [--ca ca.pem]
 *             [--shared-key FILE --timestamp yes|no (open)] [--user NAME --password WORD [--password-keys plain|derived --iterations N]]
 *             [--attachments FOLDER --attachments-out FOLDER]
 *             [--attachments-signed content|complete] [--attachments-encrypted content|complete] IN OUT
 * bench secure|open … [--payload NAME --items N --warm-up SECONDS] [--seconds SECONDS | --repetitions N] IN
 * secure-ticket|open-ticket --mechanism sign|sign-encrypt --suite S --service PRINCIPAL IN OUT
 * refuser …  IN       who of WSS4J refuses what `open` would read: the class that threw
 * judge IN            the rules of the Basic Security Profile that a message breaks
 * versions
 * --jobs FILE|-     one of the above a line, words separated by tabs; one line of JSON each
 * </pre>
 */
public final class Peer {
    private Peer() {
    }

    public static void main(String[] arguments) throws IOException {
        // SHA-1 signatures and RSA 1.5 are what the classic suites name; the suite checked by Opening decides, not
        // the policy of the Java installation.
        Security.setProperty("jdk.xml.dsig.secureValidationPolicy", "");
        WSSConfig.init();
        new Jobs(Peer::run, Peer::refused).main(arguments);
    }

    private static String run(List<String> words) throws Exception {
        Options options = new Options(words);
        String command = options.word(0, "command");
        switch (command) {
            case "secure" -> Files.write(Path.of(options.word(2, "output")),
                new Securing(options).secure(Files.readAllBytes(Path.of(options.word(1, "input")))));
            case "open" -> Files.write(Path.of(options.word(2, "output")),
                new Opening(options).open(Files.readAllBytes(Path.of(options.word(1, "input")))));
            case "refuser" -> {
                return "{\"exit\":0,\"class\":\"" + refuser(options) + "\"}";
            }
            case "secure-ticket" -> Files.write(Path.of(options.word(2, "output")),
                new Tickets(options).secure(Files.readAllBytes(Path.of(options.word(1, "input")))));
            case "open-ticket" -> Files.write(Path.of(options.word(2, "output")),
                new Tickets(options).open(Files.readAllBytes(Path.of(options.word(1, "input")))));
            case "bench" -> {
                return Benchmark.run(options);
            }
            case "judge" -> {
                return new Judging().judge(Files.readAllBytes(Path.of(options.word(1, "input"))));
            }
            case "versions" -> {
                String version = WSSecurityEngine.class.getPackage().getImplementationVersion();
                return "{\"exit\":0,\"version\":\"" + version + " on Java " + Runtime.version() + "\"}";
            }
            default -> throw new IllegalArgumentException("expected secure, open, refuser, judge, bench or versions, found " + command);
        }
        return null;
    }

    /** The simple name of the class of WSS4J that refuses the message; empty where none does. */
    private static String refuser(Options options) throws IOException {
        try {
            new Opening(options).open(Files.readAllBytes(Path.of(options.word(1, "input"))));
        } catch (Exception e) {
            Throwable cause = e;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            String name = cause.getStackTrace()[0].getClassName();
            return name.substring(name.lastIndexOf('.') + 1);
        }
        return "";
    }

    private static boolean refused(Exception e) {
        return e instanceof WSSecurityException || e instanceof Opening.Refused || e instanceof XMLParserException;
    }
}
