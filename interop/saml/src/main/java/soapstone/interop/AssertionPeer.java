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
 * Apache WSS4J with OpenSAML as a peer program for assertions.
 *
 * <pre>
 * issue  ISSUER OUT          an assertion alone
 * secure ISSUER MESSAGE IN OUT
 * open   MESSAGE --issuer-cert issuer.pem --audience URI --ca ca.pem IN OUT
 * versions
 * --jobs FILE|-     one of the above a line, words separated by tabs; one line of JSON each
 *
 * ISSUER:  --version 1.1|2.0 --confirmation bearer|holder-of-key|sender-vouches --issuer-key k.pem --issuer-cert c.pem
 *          --audience URI [--holder-cert holder.pem | --proof secret.base64 --proof-for service.pem] [--lifetime MINUTES]
 * MESSAGE: --confirmation … [--reference identifier|direct|embedded] [--signs yes|no] [--beside yes|no] --key ours.pem --cert ours.pem
 *          [--hidden inside|beside --receiver service.pem]
 * </pre>
 */
public final class AssertionPeer {
    private AssertionPeer() {
    }

    public static void main(String[] arguments) throws IOException {
        Security.setProperty("jdk.xml.dsig.secureValidationPolicy", "");
        WSSConfig.init();
        new Jobs(AssertionPeer::run, AssertionPeer::refused).main(arguments);
    }

    private static String run(List<String> words) throws Exception {
        Options options = new Options(words);
        String command = options.word(0, "command");
        switch (command) {
            case "issue" -> Files.write(Path.of(options.word(1, "output")), Envelopes.serialize(new AssertionIssuer(options).alone(), 8192));
            case "secure" -> Files.write(Path.of(options.word(2, "output")),
                new AssertionSecuring(options).secure(Files.readAllBytes(Path.of(options.word(1, "input")))));
            case "open" -> Files.write(Path.of(options.word(2, "output")),
                new AssertionOpening(options).open(Files.readAllBytes(Path.of(options.word(1, "input")))));
            case "versions" -> {
                String version = WSSecurityEngine.class.getPackage().getImplementationVersion();
                return "{\"exit\":0,\"version\":\"" + version + " on Java " + Runtime.version() + "\"}";
            }
            default -> throw new IllegalArgumentException("expected issue, secure, open or versions, found " + command);
        }
        return null;
    }

    private static boolean refused(Exception e) {
        return e instanceof WSSecurityException || e instanceof AssertionOpening.Refused || e instanceof XMLParserException;
    }
}
