/** What the package's own types promise is what the elements read: the compiler is the test. */
import type * as diagram from "../../www/diagram/types.js";
import type * as lib from "../../www/lib/types.js";

export const reads = {
  ledger: (snapshot: lib.LedgerSnapshot): diagram.LedgerSnapshot => snapshot,
  memory: (report: lib.MemoryReport): diagram.MemoryReport => report,
  engine: (report: lib.EngineReport): diagram.EngineReport => report,
};
