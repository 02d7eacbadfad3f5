package soapstone.interop;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

import org.apache.wss4j.dom.util.WSSecurityUtil;

/** Bytes-to-bytes cost of securing and opening one message, warmed up, as one line of JSON: its figures, or all times. */
final class Benchmark {
    private interface Work {
        byte[] run() throws Exception;
    }

    private Benchmark() {
    }

    /**
     * Runs {@code bench secure|open}: {@code --warm-up} seconds unmeasured, then measured for {@code --seconds}, at
     * least 20 times; or so many {@code --repetitions}, the time of each.
     */
    static String run(Options options) throws Exception {
        String operation = options.word(1, "secure or open");
        byte[] plain = Files.readAllBytes(Path.of(options.word(2, "message")));
        Securing securing = new Securing(options);
        Opening opening = new Opening(options);
        byte[] secured = securing.secure(plain);
        if (!text(opening.open(secured)).equals(text(plain))) {
            throw new IllegalStateException("the Body holds another text when it is opened than before it was secured");
        }
        Work work = switch (operation) {
            case "secure" -> () -> securing.secure(plain);
            case "open" -> () -> opening.open(secured);
            default -> throw new IllegalArgumentException("bench: expected secure or open, found " + operation);
        };
        repeat(work, Double.parseDouble(options.optional("warm-up", "5")), 1);
        if (options.optional("repetitions") != null) {
            return times(repeat(work, 0, Integer.parseInt(options.required("repetitions"))));
        }
        double[] micros = repeat(work, Double.parseDouble(options.optional("seconds", "3")), 20);
        return line(options, operation, plain.length, secured.length, micros);
    }

    private static String text(byte[] message) throws Exception {
        return WSSecurityUtil.findBodyElement(Envelopes.parse(message)).getTextContent();
    }

    private static double[] repeat(Work work, double seconds, int least) throws Exception {
        double[] micros = new double[1024];
        int count = 0;
        long start = System.nanoTime();
        while (count < least || System.nanoTime() - start < seconds * 1e9) {
            long before = System.nanoTime();
            work.run();
            if (count == micros.length) {
                micros = Arrays.copyOf(micros, count * 2);
            }
            micros[count++] = (System.nanoTime() - before) / 1e3;
        }
        return Arrays.copyOf(micros, count);
    }

    private static String times(double[] micros) {
        return "{\"exit\":0,\"us\":[" + Arrays.stream(micros).mapToObj(one -> String.format(Locale.ROOT, "%.1f", one))
            .collect(Collectors.joining(",")) + "]}";
    }

    private static String line(Options options, String operation, int bytes, int securedBytes, double[] micros) {
        Arrays.sort(micros);
        double mean = Arrays.stream(micros).average().orElseThrow();
        double variance = Arrays.stream(micros).map(value -> (value - mean) * (value - mean)).average().orElseThrow();
        return String.format(Locale.ROOT,
            "{\"stack\":\"wss4j\",\"op\":\"%s\",\"mechanism\":\"%s\",\"suite\":\"%s\",\"payload\":\"%s\",\"items\":%s,"
                + "\"bytes\":%d,\"secured_bytes\":%d,\"clients\":1,\"n\":%d,\"mean_us\":%.1f,\"median_us\":%.1f,"
                + "\"p95_us\":%.1f,\"stdev_us\":%.1f,\"per_s\":%.1f,\"tuning\":{}}",
            operation, options.required("mechanism"), options.required("suite"), options.optional("payload", "books"),
            options.optional("items", "0"), bytes, securedBytes, micros.length, mean, micros[micros.length / 2],
            micros[(int) (micros.length * 0.95)], Math.sqrt(variance), 1e6 / mean);
    }
}
