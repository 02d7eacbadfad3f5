using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Reflection;
using System.Text;
using System.Threading;

namespace Soapstone.Interop {
    /// <summary>
    /// WCF as a peer program: the sample services Echo and Sum, served and called under a binding that the options describe.
    ///
    ///   serve --address URL [--record FOLDER] BINDING SECURITY       Echo
    ///   call  --address URL [--calls N] [--text TEXT | --sum A,B] BINDING SECURITY
    ///   serve … --payloads FOLDER --operation NAME --measured true               the sample service of an operation of the lab
    ///   measure --address URL --payloads FOLDER --operation echo|sum|books|employees [--count N] [--clients N] [--requests N] [--first true]
    ///           [--per-second N --seconds N] --measured true BINDING SECURITY
    ///   weigh … as measure
    ///   leave --address URL
    ///   version
    ///   --jobs    one of the above a line of standard input, words separated by tabs; one line of JSON each
    ///
    ///   BINDING:  --security KIND --suite NAME --soap 11|12 --addressing true|false --version NAME
    ///             [--derived true] [--confirmation true] [--order NAME] [--conversation true] [--issuer URL]
    ///   SECURITY: --key ours.p12 --peer theirs.pem [--user NAME --password WORD]
    ///
    /// Status of a job: 0 done, 2 refused or failed by WCF, 1 anything else. What is served stays served until the program ends.
    /// </summary>
    static class Peer {
        static int Main(string[] arguments) {
            ServicePointManager.Expect100Continue = false;
            ServicePointManager.UseNagleAlgorithm = false;
            // As many connections as clients call at once.
            ServicePointManager.DefaultConnectionLimit = 200;
            // Each host keeps a thread waiting; others would be made one every half second.
            ThreadPool.SetMinThreads(100, 100);
            if (arguments.Length == 1 && arguments[0] == "--jobs") {
                var answers = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false)) { AutoFlush = true };
                var jobs = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false));
                for (var line = jobs.ReadLine(); line != null; line = jobs.ReadLine()) {
                    answers.WriteLine(Result(line.Split('\t')));
                }
                // Hosts have threads of their own.
                Environment.Exit(0);
            }
            Console.WriteLine(Result(arguments));
            return 0;
        }

        static string Result(string[] words) {
            try {
                var options = new Options(words);
                return "{\"exit\":0," + Run(options) + "}";
            } catch (MistakenOption mistake) {
                return "{\"exit\":1,\"reason\":" + Quoted(mistake.Message) + "}";
            } catch (Exception failure) {
                Console.Error.WriteLine(failure);
                return "{\"exit\":2,\"reason\":" + Quoted(failure.GetType().Name + ": " + failure.Message) + "}";
            }
        }

        static string Run(Options options) {
            switch (options.Command) {
            case "serve":
                return "\"answer\":" + Quoted(Serving.Serve(options));
            case "call":
                return "\"answer\":" + Quoted(Calling.Call(options));
            case "measure":
                return Measuring.Measure(options);
            case "weigh":
                return Measuring.Weigh(options);
            case "leave":
                return Measuring.Leave(options);
            case "version":
                return "\"version\":" + Quoted(Runtime());
            default:
                throw new MistakenOption("expected serve, call, measure, weigh, leave or version, found " + options.Command);
            }
        }

        static string Runtime() {
            var name = Type.GetType("Mono.Runtime").GetMethod("GetDisplayName", BindingFlags.NonPublic | BindingFlags.Static);
            return "Mono " + name.Invoke(null, null);
        }

        static string Quoted(string text) {
            var quoted = new StringBuilder("\"");
            foreach (var character in text ?? "") {
                if (character < ' ' || character == '"' || character == '\\' || character > '~') {
                    quoted.AppendFormat("\\u{0:x4}", (int) character);
                } else {
                    quoted.Append(character);
                }
            }
            return quoted.Append('"').ToString();
        }
    }

    /// <summary>An option that is missing, or that nobody knows.</summary>
    sealed class MistakenOption : Exception {
        public MistakenOption(string message) : base(message) {
        }
    }

    /// <summary>A command and its options, each a name and a value.</summary>
    sealed class Options {
        static readonly string[] Known = {
            "address", "record", "calls", "text", "sum", "security", "suite", "soap", "addressing", "version", "derived",
            "confirmation", "order", "conversation", "key", "peer", "user", "password", "payloads", "operation", "count",
            "clients", "requests", "first", "per-second", "seconds", "measured", "issuer",
        };
        readonly Dictionary<string, string> values = new Dictionary<string, string>();

        public Options(string[] words) {
            Command = words[0];
            for (var at = 1; at < words.Length; at += 2) {
                if (!words[at].StartsWith("--") || !Known.Contains(words[at].Substring(2)) || at + 1 == words.Length) {
                    throw new MistakenOption("expected an option with its value, found " + words[at]);
                }
                values[words[at].Substring(2)] = words[at + 1];
            }
        }

        public string Command { get; private set; }

        public string this[string name] {
            get {
                if (!values.ContainsKey(name)) {
                    throw new MistakenOption("--" + name + " is missing");
                }
                return values[name];
            }
        }

        public string Or(string name, string otherwise) {
            return values.ContainsKey(name) ? values[name] : otherwise;
        }

        public bool Says(string name) {
            return Or(name, "false") == "true";
        }
    }
}
