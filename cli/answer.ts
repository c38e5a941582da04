/**
 * What `/v1` answers and takes: types of the schemas of the OpenAPI document, for the command line
 * and the page.
 *
 * What must stay true: types alone, so neither of them loads anything of the service.
 */
export type * from '../services/graph/api/across-schema.ts'
export type * from '../services/graph/api/answer-schema.ts'
export type * from '../services/graph/api/part-schema.ts'
export type { Answers, Queries } from '../services/graph/api/route.ts'
export type * from '../services/graph/api/rule-schema.ts'
