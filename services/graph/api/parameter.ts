/**
 * Checks the parameters of a request by the table of routes.
 *
 * What must stay true: every refusal is a sentence that names the parameter and the values that it
 * takes. A parameter that a route does not know is refused, too: a user who mistypes `namespace`
 * must not get the answer about all namespaces.
 *
 * Not here: what several parameters mean together (query/ask/choice.ts).
 */
import type { FastifyInstance, RouteOptions } from 'fastify'
import { Problem } from '../../../runtime/http/problem.ts'
import type { Parameter, Route } from './operation.ts'
import { routeOf } from './route.ts'

/** Of routes that are added from then on. */
export function addRouteTable(server: FastifyInstance): void {
  server.setSerializerCompiler(() => JSON.stringify)
  server.addHook('onRoute', (options) => {
    const route = routeOf(methodOf(options), options.url)
    if (route === undefined) {
      throw new Error(`${options.method} ${options.url} is not in services/graph/api/route.ts`)
    }
    options.schema = { querystring: route.parameters, response: { 200: route.answers } }
    options.validatorCompiler = ({ httpPart }) => {
      if (httpPart !== 'querystring') return () => true
      return (query) => checked(route, query as Query)
    }
  })
}

/** The server answers HEAD as GET. */
function methodOf({ method }: RouteOptions): string {
  return method === 'HEAD' ? 'GET' : String(method)
}

type Query = Readonly<Record<string, string | readonly string[]>>

function checked(route: Route, query: Query): { value: Query } | { error: Error } {
  const wrong = Object.keys(query)
    .map((name) => complaintOf(route, name, query[name] ?? ''))
    .find((each) => each !== '')
  return wrong === undefined ? { value: query } : { error: new Problem(400, wrong) }
}

/** Empty: it is as it should be. */
function complaintOf(route: Route, name: string, value: string | readonly string[]): string {
  const { path, parameters, refused = {} } = route
  const parameter = parameters.find((each) => each.name === name)
  if (parameter === undefined) {
    const why = Object.hasOwn(refused, name) ? refused[name] : undefined
    if (why !== undefined) return `${name}: ${why}`
    const takes = parameters.map((each) => each.name).join(', ') || 'none'
    return `there is no parameter ${name}; parameters of ${path}: ${takes}`
  }
  if (parameter.schema['type'] === 'array') return ''
  if (typeof value !== 'string') return `${name} is given more than once; ask with one`
  return wordComplaint(parameter, value)
}

function wordComplaint({ name, schema }: Parameter, value: string): string {
  const { type, minimum, pattern, description } = schema
  const words = type === 'boolean' ? ['true', 'false'] : (schema['enum'] as readonly string[])
  if (words !== undefined && !words.includes(value)) {
    return `${name} ${value} is none of ${words.join(', ')}`
  }
  if (type === 'integer' && !(/^\d+$/.test(value) && Number(value) >= Number(minimum))) {
    return `${name} ${value} is no whole number${minimum === 0 ? '' : ` from ${minimum} on`}`
  }
  if (typeof pattern === 'string' && !new RegExp(pattern).test(value)) {
    return `${name} ${value} is none of ${description}`
  }
  return ''
}
