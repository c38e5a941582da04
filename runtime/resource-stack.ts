/**
 * Resources that are opened one after the other and closed together, the newest first:
 * AsyncDisposableStack, as far as Kinfold uses it, which Node 22 lacks.
 *
 * What must stay true: every resource is closed once, also when closing another one fails; the
 * first failure is passed on.
 */
export class ResourceStack implements AsyncDisposable {
  #resources: AsyncDisposable[] = []

  use<T extends AsyncDisposable>(resource: T): T {
    this.#resources.push(resource)
    return resource
  }

  /** The resources, in a stack of their own: this one closes none of them any more. */
  move(): ResourceStack {
    const moved = new ResourceStack()
    moved.#resources = this.#resources
    this.#resources = []
    return moved
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = []
    for (let next = this.#resources.pop(); next !== undefined; next = this.#resources.pop()) {
      try {
        await next[Symbol.asyncDispose]()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}
