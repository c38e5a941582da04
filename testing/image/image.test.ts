/**
 * The Dockerfile makes an image that runs: built by buildah over a base of Debian's own, where
 * there is buildah.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { VERSION } from '../../cli/print/version.ts'
import { argumentsOf, labels, texts } from '../process/dockerfile.ts'
import { BuiltImage, missingBuilder } from './built.ts'

/**
 * All in one container, which ends in every case: the shell stops the playground, or `timeout`
 * stops both.
 */
const PLAY = `
data=/var/lib/kinfold/play
kinfold playground --http 127.0.0.1:0 --data "$data" >/tmp/play.log 2>&1 &
pid=$!
trap 'kill -9 $pid 2>/dev/null' EXIT
until kinfold tree deploy/web -n shop --cluster north --data "$data" 2>/tmp/tree.log | grep Pod/web-; do
  kill -0 $pid || { cat /tmp/play.log; exit 1; }
  sleep 1
done
url=$(node -p 'JSON.parse(require("node:fs").readFileSync(process.argv[1])).url' "$data/http.json")
until node /opt/kinfold/cli/ready.ts "$url" >/tmp/ready.log 2>&1; do
  kill -0 $pid || { cat /tmp/play.log /tmp/ready.log; exit 2; }
  sleep 1
done
kill -TERM $pid
wait $pid
`

test('a machine without what builds it says what is missing', () => {
  const nothing = { PATH: '/nowhere' }
  const reason = 'skipped: the image is not built: buildah and debootstrap not installed'
  equal(missingBuilder(0, nothing), reason)
  equal(missingBuilder(1_000, nothing), `${reason}; debootstrap runs as root only`)
})

suite('the image', { skip: missingBuilder() ?? false }, () => {
  let image: BuiltImage
  before(() => {
    image = new BuiltImage()
  })
  after(() => image[Symbol.dispose]())

  test('has the user, the command, the health check and the labels of the Dockerfile', () => {
    const config = image.config()
    equal(config['User'], texts('USER').at(-1))
    deepEqual(config['Entrypoint'], argumentsOf(texts('ENTRYPOINT').at(-1) ?? ''))
    const { Test: command } = config['Healthcheck'] as { Test: readonly string[] }
    deepEqual(command, ['CMD', ...argumentsOf(texts('HEALTHCHECK').at(-1) ?? '')])
    const { 'io.buildah.version': _, ...labelled } = config['Labels'] as Record<string, string>
    deepEqual(labelled, labels())
  })

  test('runs as that user, who may write its data and nothing of the program', () => {
    const ran = image.run(
      'sh',
      '-c',
      'id -u; kinfold --version; find /opt /usr -writable ! -type l',
    )
    deepEqual([ran.code, ran.stdout], [0, `65532\n${VERSION}\n`], ran.stderr)
    const touched = image.run('sh', '-c', 'touch /var/lib/kinfold/a /var/cache/kinfold/a')
    equal(touched.code, 0, touched.stderr)
  })

  test('has no npm, and no other Node', () => {
    const found = image.run('sh', '-c', 'command -v npm npx yarn; find / -xdev -name node -type f')
    equal(found.stdout, '/usr/local/bin/node\n')
  })

  test('runs the playground, answers a question and its health check, and ends when told', () => {
    const ran = image.run('timeout', '--kill-after=5', '120', 'sh', '-c', PLAY)
    equal(ran.code, 0, ran.stdout + ran.stderr)
    match(ran.stdout, /Pod\/web-/)
  })
})
