/**
 * The OpenAPI 3.1 document of the endpoint, made of the table of routes.
 * docs/integrate/openapi.json is this text (`npm run pages`).
 */
import { SCHEMAS } from './answer-schema.ts'
import type { Parameter, Route } from './operation.ts'
import { ROUTES } from './route.ts'
import { type Schema, TEXT } from './schema.ts'

const REFUSALS = {
  problem: { $ref: '#/components/responses/Problem' },
  status: { $ref: '#/components/responses/Status' },
}

export function openApi(): string {
  const paths = Map.groupBy(ROUTES, ({ path }) => path)
  const document = {
    openapi: '3.1.1',
    info: {
      title: 'Kinfold',
      version: 'v1',
      description:
        'Questions about owners, dependents and deletions, orders, and streams of the public record. What each answer means: docs/ask/questions.md, docs/operate/directives.md, docs/integrate/lineage.md. Within v1, fields and words may be added; none is removed or changes its meaning.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ url: '/', description: 'The endpoint that answers with this document.' }],
    security: [{ bearer: [] }, {}],
    paths: Object.fromEntries(
      [...paths].map(([path, routes]) => [
        path,
        Object.fromEntries(routes.map((route) => [route.method, operationOf(route)])),
      ]),
    ),
    components: {
      schemas: SCHEMAS,
      responses: {
        Problem: {
          description: 'Why it was refused.',
          content: {
            'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
          },
        },
        Status: {
          description: 'Why it was refused, as an API server says it.',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Status' } } },
        },
      },
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'Where the endpoint wants one: docs/operate/config.md.',
        },
      },
    },
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

function operationOf({ operation, summary, body, answers, ...route }: Route): Schema {
  const refused = REFUSALS[route.refusal ?? 'problem']
  const parameters = [
    ...(route.segments ?? []).map(segmentOf),
    ...route.parameters.map(parameterOf),
  ]
  const answer = answers['application/json'] ?? {}
  const isTagged = body === undefined && ('$ref' in answer || 'anyOf' in answer)
  return {
    operationId: operation,
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: body } } },
    }),
    responses: {
      200: {
        description: summary,
        ...(isTagged && { headers: { ETag: { schema: TEXT } } }),
        content: contentOf(answers),
      },
      ...(isTagged && { 304: { description: 'The same as before: If-None-Match has its ETag.' } }),
      '4XX': refused,
      '5XX': refused,
    },
  }
}

function parameterOf({ name, description, schema }: Parameter): Schema {
  return { name, in: 'query', description, schema }
}

function segmentOf({ name, description, schema }: Parameter): Schema {
  return { name, in: 'path', required: true, description, schema }
}

function contentOf(answers: Route['answers']): Schema {
  return Object.fromEntries(Object.entries(answers).map(([type, schema]) => [type, { schema }]))
}
