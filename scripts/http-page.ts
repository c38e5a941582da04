/**
 * docs/integrate/http.md: each route of the endpoint with its parameters, for people, of the same
 * document that programs read (docs/integrate/openapi.json).
 *
 * What must stay true: a page contains nothing that is not in the code (pages.ts). Not here: what
 * an answer means (docs/ask), and its fields, which openapi.json has.
 */
import { openApi } from '../services/graph/api/openapi.ts'

interface Value {
  readonly type?: string
  readonly enum?: readonly string[]
}

interface Parameter {
  readonly name: string
  readonly description: string
  readonly schema: Value
}

interface Operation {
  readonly summary: string
  readonly parameters?: readonly Parameter[]
}

type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>

const HEAD = `# Routes

What the endpoint answers, and the parameters of each route. [openapi.json](openapi.json), which a running process
serves at \`/openapi.json\`, has the fields of the answers, too. This page is written by \`npm run pages\`.

What an answer means is in [questions.md](../ask/questions.md), what all of them have in common [there,
too](../ask/questions.md#the-shape-of-an-answer), and who may ask in
[directives.md](../operate/directives.md#who-may-ask). Paths below \`/api\` and \`/apis\` are there behind
\`/clusters/CLUSTER\` as well.
`

export function httpPage(): string {
  const { paths } = JSON.parse(openApi()) as { readonly paths: Paths }
  const sections = Object.entries(paths)
    .filter(([path]) => !path.startsWith('/clusters/'))
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) =>
        sectionOf(`${method.toUpperCase()} ${path}`, operation),
      ),
    )
  return `${HEAD}\n${sections.join('\n')}`
}

function sectionOf(route: string, { summary, parameters = [] }: Operation): string {
  const rows = parameters.map(
    ({ name, description, schema }) =>
      `| \`${name}\` | ${valuesOf(schema)} | ${description.replaceAll('|', '\\|')} |`,
  )
  const table = ['', '| Parameter | Takes | |', '|---|---|---|', ...rows]
  return [`## ${route}`, '', `${summary}.`, ...(rows.length === 0 ? [] : table), ''].join('\n')
}

function valuesOf({ type, enum: words }: Value): string {
  return words?.map((word) => `\`${word}\``).join(', ') ?? type ?? ''
}
