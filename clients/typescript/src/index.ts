/** Client of recallmesh: typed calls with a deadline, a key and repeats wherever they do no harm. */

export type { Call, CallOptions, Calls } from "./calls.js";
export { MeshError, type Violation } from "./error.js";
export { type Mesh, type Options, openMesh } from "./mesh.js";
