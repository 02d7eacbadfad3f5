package soapstone.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Security;
import java.util.Arrays;
import java.util.List;

import org.apache.wss4j.common.ext.WSSecurityException;
import org.apache.wss4j.dom.engine.WSSConfig;
import org.apache.xml.security.parser.XMLParserException;

/**
 * Apache WSS4J (DOM) as a peer program.
 *
 * <pre>
 * secure|open --mechanism M --suite S [--signature A] [--key-reference R] [--encryption-key-reference R]
 *             [--signed LIST] [--encrypted LIST] [--key ours.pem --cert ours.pem] [--peer peer.pem] [--ca ca.pem]
 *             [--user NAME --password WORD] IN OUT
 * bench secure|open … [--payload NAME --items N --warm-up SECONDS --seconds SECONDS] IN
 * --jobs FILE|-     one of the above a line, words separated by tabs; one line of JSON each
 * </pre>
 *
 * Exit status: 0 done or accepted, 2 refused, 1 anything else.
 */
public final class Peer {
    private static final int REFUSED = 2;

    private Peer() {
    }

    public static void main(String[] arguments) throws IOException {
        // SHA-1 signatures and RSA 1.5 are what the classic suites name; the suite checked by Opening decides, not
        // the policy of the Java installation.
        Security.setProperty("jdk.xml.dsig.secureValidationPolicy", "");
        WSSConfig.init();
        if (arguments.length == 2 && arguments[0].equals("--jobs")) {
            jobs(arguments[1]);
            return;
        }
        try {
            String said = run(Arrays.asList(arguments));
            if (said != null) {
                System.out.println(said);
            }
        } catch (Exception e) {
            System.err.println(reason(e));
            System.exit(refused(e) ? REFUSED : 1);
        }
    }

    private static void jobs(String file) throws IOException {
        try (BufferedReader lines = file.equals("-")
            ? new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))
            : Files.newBufferedReader(Path.of(file))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                System.out.println(job(List.of(line.split("\t"))));
                System.out.flush();
            }
        }
    }

    private static String job(List<String> words) {
        try {
            String said = run(words);
            return said == null ? "{\"exit\":0}" : said;
        } catch (Exception e) {
            return "{\"exit\":" + (refused(e) ? REFUSED : 1) + ",\"reason\":" + quoted(reason(e)) + "}";
        }
    }

    private static String run(List<String> words) throws Exception {
        Options options = new Options(words);
        String command = options.word(0, "secure, open or bench");
        switch (command) {
            case "secure" -> Files.write(Path.of(options.word(2, "output")),
                new Securing(options).secure(Files.readAllBytes(Path.of(options.word(1, "input")))));
            case "open" -> Files.write(Path.of(options.word(2, "output")),
                new Opening(options).open(Files.readAllBytes(Path.of(options.word(1, "input")))));
            case "bench" -> {
                return Benchmark.run(options);
            }
            default -> throw new IllegalArgumentException("expected secure, open or bench, found " + command);
        }
        return null;
    }

    private static boolean refused(Exception e) {
        return e instanceof WSSecurityException || e instanceof Opening.Refused || e instanceof XMLParserException;
    }

    /** The messages of the exception and of its causes, outermost first. */
    private static String reason(Throwable e) {
        StringBuilder text = new StringBuilder();
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            String message = cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
            if (text.indexOf(message) < 0) {
                text.append(text.isEmpty() ? "" : ": ").append(message);
            }
        }
        return text.toString();
    }

    private static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            switch (c) {
                case '"', '\\' -> json.append('\\').append(c);
                case '\n' -> json.append("\\n");
                default -> json.append(c < ' ' ? ' ' : c);
            }
        }
        return json.append('"').toString();
    }
}
