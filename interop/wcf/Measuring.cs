using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.Linq;
using System.ServiceModel;
using System.Threading;

namespace Soapstone.Interop {
    /// <summary>
    /// Calls sample services and takes the time: from asking a client until it gives back the answer as an object. Every answer is checked; a
    /// wrong one is a failure, never a figure. The clients of an address are kept from job to job until it is left.
    /// </summary>
    static class Measuring {
        static readonly Dictionary<string, List<IClientChannel>> Known = new Dictionary<string, List<IClientChannel>>();

        public static string Measure(Options options) {
            Payloads.In(options["payloads"]);
            var operation = Operation.Of(options);
            var clients = Clients(operation, options);
            double[] times;
            if (options.Or("per-second", null) != null) {
                times = Paced(operation, clients[0], Number(options["per-second"]), Number(options["seconds"]));
            } else {
                times = Together(operation, clients, int.Parse(options.Or("requests", "1")));
            }
            var texts = times.Select(time => time.ToString("F1", CultureInfo.InvariantCulture));
            return "\"us\":[" + string.Join(",", texts) + "]";
        }

        /// <summary>Bytes of one request and its answer, as the client sends and gets them.</summary>
        public static string Weigh(Options options) {
            Payloads.In(options["payloads"]);
            var operation = Operation.Of(options);
            var client = Clients(operation, options)[0];
            MeasuredEncoding.Begin();
            Ask(operation, client);
            return "\"octets\":" + MeasuredEncoding.Octets;
        }

        /// <summary>Forgets the clients of an address.</summary>
        public static string Leave(Options options) {
            var address = options["address"];
            if (!Known.ContainsKey(address)) {
                throw new MistakenOption(address + ": nobody called there");
            }
            foreach (var client in Known[address]) {
                client.Abort();
            }
            Known.Remove(address);
            return "\"left\":1";
        }

        /// <summary>As many as are asked for; new ones have made a call before, unless the first one counts.</summary>
        static List<IClientChannel> Clients(Operation operation, Options options) {
            var address = options["address"];
            if (!Known.ContainsKey(address)) {
                Known[address] = new List<IClientChannel>();
            }
            var known = Known[address];
            var count = int.Parse(options.Or("clients", "1"));
            while (known.Count < count) {
                var client = operation.Channel(options);
                if (!options.Says("first")) {
                    Ask(operation, client);
                }
                known.Add(client);
            }
            return known.Take(count).ToList();
        }

        /// <summary>The microseconds that a call takes.</summary>
        static double Ask(Operation operation, IClientChannel client) {
            var before = Stopwatch.GetTimestamp();
            var answer = operation.Ask(client);
            var ticks = Stopwatch.GetTimestamp() - before;
            if (!operation.IsRight(answer)) {
                throw new InvalidOperationException(operation.Contract.Name + ": the answer is another one than expected");
            }
            return 1e6 * ticks / Stopwatch.Frequency;
        }

        static double[] Together(Operation operation, List<IClientChannel> clients, int requests) {
            Func<IClientChannel, double[]> one = client => Enumerable.Range(0, requests).Select(_ => Ask(operation, client)).ToArray();
            if (clients.Count == 1) {
                return one(clients[0]);
            }
            var times = new double[clients.Count][];
            AtOnce(clients.Count, number => times[number] = one(clients[number]));
            return times.SelectMany(several => several).ToArray();
        }

        /// <summary>A request that cannot begin when it is due has waited: its time counts from when it was due.</summary>
        static double[] Paced(Operation operation, IClientChannel client, double perSecond, double seconds) {
            var times = new double[(int) Math.Ceiling(perSecond * seconds)];
            var begun = Stopwatch.StartNew();
            AtOnce(times.Length, number => {
                var due = TimeSpan.FromSeconds(number / perSecond);
                var wait = due - begun.Elapsed;
                if (wait > TimeSpan.Zero) {
                    Thread.Sleep(wait);
                }
                var late = (begun.Elapsed - due).TotalMilliseconds * 1e3;
                times[number] = Math.Max(late, 0) + Ask(operation, client);
            });
            return times;
        }

        /// <summary>So many threads; the failure of one is that of all.</summary>
        static void AtOnce(int count, Action<int> work) {
            Exception failure = null;
            var threads = Enumerable.Range(0, count).Select(number => new Thread(() => {
                try {
                    work(number);
                } catch (Exception exception) {
                    failure = exception;
                }
            })).ToList();
            threads.ForEach(thread => thread.Start());
            threads.ForEach(thread => thread.Join());
            if (failure != null) {
                throw new InvalidOperationException(failure.GetType().Name + ": " + failure.Message, failure);
            }
        }

        static double Number(string text) {
            return double.Parse(text, CultureInfo.InvariantCulture);
        }
    }
}
