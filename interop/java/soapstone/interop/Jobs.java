package soapstone.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;

/**
 * Runs one job given as arguments, or many given as lines ({@code --jobs FILE|-}: words separated by tabs; one line of
 * JSON each).
 *
 * <p>Exit status: 0 done or accepted, 2 refused, 1 anything else.
 */
final class Jobs {
    private static final int REFUSED = 2;

    private final Job job;
    private final Predicate<Exception> refusal;

    /** What a program does with the words it is given; the result is printed unless it is null. */
    interface Job {
        String run(List<String> words) throws Exception;
    }

    Jobs(Job job, Predicate<Exception> refusal) {
        this.job = job;
        this.refusal = refusal;
    }

    void main(String[] arguments) throws IOException {
        if (arguments.length == 2 && arguments[0].equals("--jobs")) {
            lines(arguments[1]);
            return;
        }
        try {
            String said = job.run(Arrays.asList(arguments));
            if (said != null) {
                System.out.println(said);
            }
        } catch (Exception e) {
            System.err.println(reason(e));
            System.exit(status(e));
        }
    }

    private void lines(String file) throws IOException {
        PrintStream answers = System.out;
        // What libraries print is no answer.
        System.setOut(System.err);
        try (BufferedReader lines = file.equals("-")
            ? new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))
            : Files.newBufferedReader(Path.of(file))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                answers.println(result(List.of(line.split("\t"))));
                answers.flush();
            }
        }
    }

    private String result(List<String> words) {
        try {
            String said = job.run(words);
            return said == null ? "{\"exit\":0}" : said;
        } catch (Exception e) {
            return "{\"exit\":" + status(e) + ",\"reason\":" + quoted(reason(e)) + "}";
        }
    }

    private int status(Exception e) {
        return refusal.test(e) ? REFUSED : 1;
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
