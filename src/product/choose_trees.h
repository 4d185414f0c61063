/* Decision trees of choose.c, made by bench/calibrate.py (make calibrate): do not edit. */
/* clang-format off */
enum { CHOICES = 6 };
/** A leaf lists the kernels in the order in which they are tried. The left child of an inner node, for a
 *  trait up to the bound, is the next node; the right child is node `other`. */
typedef struct choice_node {
    sp_trait trait;
    double bound;
    int other;
    const char *order[CHOICES];
} choice_node;

static const choice_node f64_tree[] = {
    {SP_X_BYTES, 192, 20, {0}},
     {SP_OVER_128, 0.0429507, 15, {0}},
      {SP_REUSE, 3.03432, 12, {0}},
       {SP_X_BYTES, 20, 5, {0}},
        {.order = {"sell_rows", "sell_deep", "csr_balanced", "csr_deep", "panel_mma", "panel_staged"}},
        {SP_X_BYTES, 96, 9, {0}},
         {SP_OVER_16, 4.90491e-05, 8, {0}},
          {.order = {"sell_deep", "csr_balanced", "csr_deep", "sell_rows", "panel_mma", "panel_staged"}},
          {.order = {"sell_deep", "csr_deep", "panel_mma", "sell_rows", "csr_balanced", "panel_staged"}},
         {SP_MEAN, 10.8849, 11, {0}},
          {.order = {"csr_balanced", "panel_mma", "sell_deep", "sell_rows", "csr_deep", "panel_staged"}},
          {.order = {"csr_deep", "panel_mma", "csr_balanced", "sell_deep", "sell_rows", "panel_staged"}},
       {SP_X_BYTES, 20, 14, {0}},
        {.order = {"sell_rows", "panel_mma", "sell_deep", "csr_deep", "csr_balanced", "panel_staged"}},
        {.order = {"panel_mma", "sell_deep", "csr_deep", "sell_rows", "csr_balanced", "panel_staged"}},
      {SP_X_BYTES, 20, 17, {0}},
       {.order = {"sell_deep", "sell_rows", "csr_deep", "csr_balanced", "panel_mma", "panel_staged"}},
       {SP_ENTRIES, 1.28826e+06, 19, {0}},
        {.order = {"csr_deep", "csr_balanced", "sell_deep", "sell_rows", "panel_mma", "panel_staged"}},
        {.order = {"sell_rows", "csr_deep", "csr_balanced", "sell_deep", "panel_mma", "panel_staged"}},
     {SP_REUSE, 1.29424, 28, {0}},
      {SP_OVER_32, 0.0193972, 25, {0}},
       {SP_SHARED, 0.0156126, 24, {0}},
        {.order = {"csr_balanced", "panel_mma", "panel_staged", "sell_deep", "sell_rows", "csr_deep"}},
        {.order = {"panel_staged", "csr_balanced", "csr_deep", "panel_mma", "sell_deep", "sell_rows"}},
       {SP_ENTRIES, 416566, 27, {0}},
        {.order = {"csr_deep", "csr_balanced", "sell_deep", "sell_rows", "panel_mma", "panel_staged"}},
        {.order = {"csr_balanced", "csr_deep", "sell_deep", "sell_rows", "panel_mma", "panel_staged"}},
      {SP_REUSE, 2.44322, 30, {0}},
       {.order = {"panel_staged", "csr_balanced", "csr_deep", "panel_mma", "sell_deep", "sell_rows"}},
       {.order = {"panel_staged", "panel_mma", "csr_balanced", "csr_deep", "sell_deep", "sell_rows"}},
};
static const choice_node f32_tree[] = {
    {SP_X_BYTES, 192, 20, {0}},
     {SP_X_BYTES, 24, 9, {0}},
      {SP_REUSE, 3.03432, 6, {0}},
       {SP_MEAN, 2.99845, 5, {0}},
        {.order = {"csr_deep", "sell_rows", "sell_deep", "csr_balanced", "panel_mma", "panel_staged"}},
        {.order = {"sell_rows", "sell_deep", "csr_deep", "csr_balanced", "panel_mma", "panel_staged"}},
       {SP_VARIATION, 0.299197, 8, {0}},
        {.order = {"sell_deep", "sell_rows", "panel_mma", "csr_deep", "csr_balanced", "panel_staged"}},
        {.order = {"panel_mma", "sell_rows", "sell_deep", "csr_balanced", "csr_deep", "panel_staged"}},
      {SP_OVER_128, 0.0429507, 17, {0}},
       {SP_REUSE, 3.33816, 16, {0}},
        {SP_ENTRIES, 2.02224e+06, 15, {0}},
         {SP_OVER_32, 0.0451448, 14, {0}},
          {.order = {"sell_deep", "csr_deep", "panel_mma", "sell_rows", "csr_balanced", "panel_staged"}},
          {.order = {"csr_deep", "sell_deep", "panel_mma", "sell_rows", "csr_balanced", "panel_staged"}},
         {.order = {"sell_deep", "csr_balanced", "panel_mma", "sell_rows", "csr_deep", "panel_staged"}},
        {.order = {"panel_mma", "sell_deep", "csr_deep", "sell_rows", "csr_balanced", "panel_staged"}},
       {SP_OVER_8, 0.285718, 19, {0}},
        {.order = {"sell_deep", "csr_deep", "csr_balanced", "sell_rows", "panel_mma", "panel_staged"}},
        {.order = {"csr_deep", "sell_deep", "csr_balanced", "sell_rows", "panel_mma", "panel_staged"}},
     {SP_ENTRIES, 1.62152e+06, 28, {0}},
      {SP_OVER_16, 0.667484, 25, {0}},
       {SP_OVER_32, 0.138459, 24, {0}},
        {.order = {"csr_balanced", "panel_staged", "csr_deep", "sell_deep", "sell_rows", "panel_mma"}},
        {.order = {"sell_deep", "csr_balanced", "csr_deep", "sell_rows", "panel_staged", "panel_mma"}},
       {SP_ENTRIES, 777034, 27, {0}},
        {.order = {"csr_deep", "csr_balanced", "sell_rows", "sell_deep", "panel_mma", "panel_staged"}},
        {.order = {"csr_balanced", "sell_deep", "csr_deep", "sell_rows", "panel_mma", "panel_staged"}},
      {SP_SHARED, 0.0364601, 30, {0}},
       {.order = {"csr_balanced", "sell_rows", "panel_staged", "sell_deep", "csr_deep", "panel_mma"}},
       {.order = {"panel_staged", "csr_balanced", "csr_deep", "panel_mma", "sell_deep", "sell_rows"}},
};
