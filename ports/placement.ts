/**
 * Port: which tasks this process runs. Guarantees: a task given is this process' until its `revoked` aborts; two processes may believe
 * so at once, and the fence decides.
 */
export interface Placed {
  readonly partition: number
  readonly revoked: AbortSignal
}

export interface Placement extends AsyncDisposable {
  assignments(signal: AbortSignal): AsyncIterable<Placed>
}
