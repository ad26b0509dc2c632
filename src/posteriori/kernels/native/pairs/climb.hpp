// Networks by steps: arrows added, deleted and turned while a score rises, then nodes moved in a topological order.
//
// s(v | P) is the score of node v with parents P; a network's is the sum. Scores are asked for a column at a time, all
// toggles of one family together, and kept as long as the search lasts.
//
// A search ends whatever rounding does. The score of a family is the first number that was ever known of it, so that the sum
// over the nodes, always added in their order, is a function of the graph. Whatever is repeated without a bound asks that a
// number of this kind rises strictly, and there are finitely many graphs: a greedy step the sum of the graph, a tabu walk that
// begins to count its idle steps anew the sum of the best, moves in the order the sum of the families at hand, the toggles of
// one node the score of its family, and orders that are tried anew the sum of the best. Scores that are no numbers rise never.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <unordered_map>
#include <vector>

namespace posteriori {

using Nodes = std::vector<int>;  // in rising order where it is a set

// out[0] = s(child | parents), if it is `own` that is asked, out[1 + k] = s(child | parents with candidate k added, or taken away).
using Ask = std::function<void(int child, const Nodes& parents, const Nodes& candidates, bool own, double* out)>;

enum class Move { add, del, turn };

struct Step {
    Move move;
    int parent, child;
    double gain, score;  // of the whole network, after it
};

struct Ended {};  // by time or by hand; `ask` may throw it

struct ClimbTask {
    int d;
    std::vector<std::uint8_t> required, forbidden;  // [u * d + v], arrows u → v
    int most;                                       // parents of a node
    double least;                                   // scores that differ less are equal
    bool symmetric;                                 // without other parents u → v is worth as much as v → u
    int tabu, restarts;
    int orders;  // that are tried without gain where no step gains, before the search ends
    std::uint64_t moves;  // scores that moving nodes may ask for each time, and kMoves times those of the first climb
    std::uint64_t seed;
    Ask ask;
    std::function<bool(const Step*)> tell;  // of each step, and null in between; whether to go on
};

struct Climbed {
    std::vector<Nodes> parents;
    std::vector<double> families;  // their scores
    std::vector<Step> steps;
    bool finished;
};

// From a network that keeps the rules to the best one met, and the steps to it.
Climbed climb(const ClimbTask& task, const std::vector<Nodes>& start);

constexpr std::uint64_t kMoves = 4;
constexpr int kFew = 16;  // nodes, of which all are tried as parents, and three moves are judged together
constexpr int kFewer = 10, kScattered = 12;  // nodes, of which so many orders by chance are begun from no arrows

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct Family {
    double own = kUnknown;
    std::vector<double> toggled{};  // by candidate; of some families none is known
};

struct HashNodes {
    std::size_t operator()(const Nodes& nodes) const {
        std::size_t h = 1469598103934665603u;
        for (const int v : nodes) h = (h ^ static_cast<std::size_t>(v)) * 1099511628211u;
        return h ^ h >> 29;
    }
};

Nodes toggled(const Nodes& set, int node);

// Every family met so far, with the scores asked for: none is asked for twice, whichever parent came last.
class Families {
    const ClimbTask& task;
    std::vector<std::unordered_map<Nodes, Family, HashNodes>> seen;

  public:
    std::uint64_t asked = 0;
    explicit Families(const ClimbTask& task) : task(task), seen(static_cast<std::size_t>(task.d)) {}
    Family& at(int v, const Nodes& parents);
    // Its scores for `candidates`, those not known yet asked for at once.
    void learn(int v, const Nodes& parents, Family& family, const Nodes& candidates);
    void learn_pairs(const std::function<void()>& go_on);
};

// A graph without cycles, and which of its nodes lead to which.
class Network {
    std::size_t d, words;
    std::vector<std::uint64_t> reached;  // [v]: the nodes that v leads to

  public:
    std::vector<Nodes> parents;

    explicit Network(const std::vector<Nodes>& parents);
    bool has(int u, int v) const;
    bool leads(int u, int v) const { return reached[static_cast<std::size_t>(u) * words + static_cast<std::size_t>(v) / 64] >> (v % 64) & 1; }
    bool can_turn(int u, int v) const;  // u → v, which is there
    void toggle(int u, int v);
    void turn(int u, int v);
    Nodes order(std::uint64_t shuffle = 0) const;  // parents first; of those that may come next the first, or one by chance

  private:
    void reach();
};

class Climber {
    friend class Reorder;
    const ClimbTask& task;
    Families families;
    Network graph;
    std::vector<Family*> now;
    std::vector<Step> steps;
    double score = 0.0, best_score = 0.0;
    std::vector<Nodes> best;
    std::size_t best_steps = 0;
    std::uint64_t allowed = 0, until = 0;  // scores: for moves each time; as many may be asked for now
    bool spent() const { return task.d > kFew && families.asked > until; }

    bool required(int u, int v) const { return task.required[static_cast<std::size_t>(u * task.d + v)]; }
    bool forbidden(int u, int v) const { return task.forbidden[static_cast<std::size_t>(u * task.d + v)]; }
    bool full(int v) const { return graph.parents[static_cast<std::size_t>(v)].size() >= static_cast<std::size_t>(task.most); }
    bool may_turn(int u, int v) const;
    double worth(int u, int v) const { return now[static_cast<std::size_t>(v)]->toggled[static_cast<std::size_t>(u)] - now[static_cast<std::size_t>(v)]->own; }
    void go_on(const Step* step = nullptr);
    void load(int v);
    double after(const Step& step) const;  // the score of the graph that it leads to
    void rest();
    void take(const Step& step);
    void back();
    std::vector<Step> choices();  // every step that may be taken, additions first, then by parent, then by child
    void greedy(int tabu);
    void shake(int n, std::uint64_t& state);
    void settle(int tabu);
    bool reorder(std::uint64_t shuffle);
    void wander(std::uint64_t& state);
    void scatter(std::uint64_t& state);

  public:
    Climber(const ClimbTask& task, const std::vector<Nodes>& start);
    Climbed run();
};

}  // namespace posteriori
