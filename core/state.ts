/** Values of the store. */
export interface Position {
  readonly type: 'Position'
  readonly position: bigint
}
export type StateValue = Position
