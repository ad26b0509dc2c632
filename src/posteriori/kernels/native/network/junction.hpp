// The junction tree: a plan compiled once from a network, and a state that answers questions over it.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "loops.hpp"
#include "triangulate.hpp"

namespace posteriori {

// A clique, its axes ordered so that the separator to its parent comes last: the largest loops then run over memory in
// order. `potential` is the product of the tables given to the clique, over their own axes only.
struct Clique {
    std::vector<int> nodes;
    int fresh = 0;  // the first `fresh` axes are not in the parent's clique
    int parent = -1;
    std::vector<int> children;
    std::vector<int> tables;                  // nodes whose table belongs here
    std::vector<std::vector<char>> shared;    // for each child, which axes are in its separator
    std::vector<Index> stride;                // of the potential, per axis
    std::vector<double> potential;            // empty: all ones
    bool in_logs = false;                     // the potential is kept in logarithms: its cells lie too far apart
    double least_log = 0;                     // log of its least positive cell
    Index cells = 1, message_cells = 1;
    Index place = 0, message_place = 0;       // where its belief and its messages lie in the buffers of a state
    int slot = 0;                             // which child of its parent it is
    std::vector<int> read_here, read_message; // nodes whose marginal is read from the belief, or from the separator
};

// Cells that are written before they are read: memory is taken, not cleared.
class Buffer {
public:
    void resize(Index n) { cells_.reset(new double[n]); }
    double* data() const { return cells_.get(); }
    double& operator[](Index i) const { return cells_[i]; }

private:
    std::unique_ptr<double[]> cells_;
};

class Plan {
public:
    // A tree of more than `budget` bytes is not laid out: only its figures are known.
    Plan(std::vector<int> sizes, Lists parents, double budget);

    // Multiplies the tables into the potentials; tables[v] has the axes parents[v], then v.
    void fill(const double* tables, const Index* offsets);

    double bytes() const { return bytes_; }  // what one state needs, potentials included
    bool filled() const { return filled_; }
    const std::vector<int>& largest() const { return largest_; }
    double largest_cells() const { return largest_cells_; }

    std::vector<int> sizes;
    Lists parents, children;
    std::vector<Clique> cliques;          // parents before children
    Lists containing;                     // for each node the cliques that hold it
    std::vector<Index> offsets;           // where the marginal of each node lies in a flat output
    std::vector<int> home;                // a smallest clique that holds the node
    Index belief_cells = 0, message_cells = 0, scratch_cells = 1;

private:
    std::vector<int> lay_out(const CliqueTree& tree);
    double needed() const;
    double bytes_ = 0, largest_cells_ = 0;
    bool filled_ = false;
    std::vector<int> largest_;
};
constexpr double kMostBytes = 4e15;  // beyond it no tree is laid out: no machine holds it, the caller refuses it by its bytes

// Findings: hard[v] a state or −1; soft[v] a likelihood vector, its largest cell 1, or empty; log_weight[v] what it was scaled by.
struct Findings {
    explicit Findings(std::size_t n) : hard(n, -1), soft(n), log_weight(n, 0.0) {}
    void add(int v, const double* likelihood, int size);
    void drop(int v);

    std::vector<int> hard;
    std::vector<std::vector<double>> soft;
    std::vector<double> log_weight;
};

class State {
public:
    explicit State(std::shared_ptr<const Plan> plan);

    // Takes the findings; what they leave as it was is not computed again.
    void set(const Findings& findings);
    void change(int v, const double* likelihood);  // one finding; null takes it out
    void reset();  // forget every message: the next question is answered from nothing

    bool collect();     // messages to the roots; false when the findings are impossible
    bool distribute();  // messages from the roots and all marginals, after collect
    double log_probability() const;
    const Plan& plan() const { return *plan_; }
    const std::vector<double>& marginals() const { return marginals_; }

    // Joint of nodes that lie in one clique (in the order given), or false when none holds them all.
    bool joint(const std::vector<int>& nodes, std::vector<double>& out);

    // argmax_x P(x, e) and its log.
    bool most_probable(std::vector<int>& states, double& log_value);

    // Independent draws from P(x | e) after collect, in chunks with a seed each.
    void sample(Index rows, const std::uint64_t* seeds, Index chunk, int threads, std::int32_t* out) const;

    // Adds weight · P(x_family | findings), after collect, to the table of every family that is not wholly observed.
    void expect(double weight, const Index* offsets, double* out);

    void only(const std::vector<int>& nodes);  // distribute will read these nodes alone

private:
    // How much of a clique is still good after a change.
    enum Good : char { nothing, belief, all };

    void multiply(int c);
    template <typename Reduce> bool send(int c);
    void tell_parent(int c, double least_before);
    Nest over_message(int c, const std::vector<char>* shared) const;
    const double* weighted(int c);
    double log_message(int c, Index i) const;  // of the message of c to its parent
    void read_leaf(int c);
    void read(const std::vector<int>& nodes, const Clique& clique, int from, int to, const double* table);
    void mark_affected(const std::vector<int>& changed);
    bool any_affected(const Clique& clique) const;

    std::shared_ptr<const Plan> plan_;
    Findings now_;
    Buffer belief_, up_, separator_, scratch_;
    std::vector<double> ratio_, message_, marginals_;
    std::vector<Index> cells_, message_cells_, separator_cells_;  // message and separator sizes: 0 when not known
    std::vector<double> log_scale_, least_log_;
    std::vector<double> bound_;         // log of a lower bound of the positive cells of a belief
    std::vector<double> product_log_;   // log of what was scaled out of a belief
    std::vector<char> logs_, wide_;     // beliefs, and messages to the parent, that are kept in logarithms
    std::vector<LogSum> sums_;
    Index scratch_room_ = 0;
    std::vector<char> good_, recomputed_, affected_, wanted_, wanted_below_;
    std::vector<double> share_;         // a clique's posterior, scaled
    std::vector<Index> stride_;
    std::vector<char> moved_, marks_;   // of `distribute` and of `mark_affected`, kept so that a question takes no memory
    std::vector<int> stack_;
    std::vector<int> touched_;          // how often a belief was changed in place since it was multiplied out
    bool impossible_ = false;
    double log_probability_ = 0;
};

// Marginals of the targets for every case (a row of codes, −1 missing), one row of `out` a case; possible[r] = 0 where the
// case has probability zero.
void batch(const std::shared_ptr<const Plan>& plan, const int* cases, Index rows, const std::vector<int>& targets, double* out,
           char* possible, int threads);

// What the cases tell of the tables: Σ_r weights[r] · P(x_family | case r) of the families that a case does not state whole,
// where table v lies at offsets[v]; and log P(case r). Part p of the rows adds to out[p], whatever the number of threads.
void expected(const std::shared_ptr<const Plan>& plan, const int* cases, const double* weights, Index rows, const Index* offsets,
              Index parts, double* out, double* log_probability, int threads);

}  // namespace posteriori
