/**
 * The files that package managers read to install a release: a manifest for krew, a formula for
 * Homebrew.
 *
 * What must stay true: each names a file of the release by its checksum, below the URL where the
 * release will be; both need Node, and say so.
 *
 * Not here: the files themselves (release.ts, client.ts).
 */
import { stringify } from 'yaml'
import { PLUGIN } from './client.ts'

export interface Published {
  readonly version: string
  /** Where the files of the release will be, without a slash at the end. */
  readonly url: string
  readonly homepage: string
}

export interface ReleasedFile {
  readonly name: string
  readonly sha256: string
}

const SHORT = 'Who owns what, and what a delete will take'

export function krewManifest(
  { version, url, homepage }: Published,
  { name, sha256 }: ReleasedFile,
): string {
  return stringify(
    {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'kinfold' },
      spec: {
        version: `v${version}`,
        homepage,
        shortDescription: SHORT,
        description:
          'Questions and orders for a running Kinfold, the garbage collector for several clusters: trees of owners and\ndependents, why an object was deleted, what a delete would take, what is held, approvals.\n',
        caveats:
          'It is a script for Node 22.19 or newer, which has to be on PATH, or named in KINFOLD_NODE.\nIt asks the Kinfold that --server or KINFOLD_SERVER names.\n',
        platforms: [
          {
            selector: {
              matchExpressions: [{ key: 'os', operator: 'In', values: ['linux', 'darwin'] }],
            },
            uri: `${url}/${name}`,
            sha256,
            bin: PLUGIN,
          },
        ],
      },
    },
    { lineWidth: 0 },
  )
}

/**
 * Of the npm package: Homebrew brings Node and the package's dependencies, whose install scripts
 * are not needed.
 */
export function homebrewFormula(
  { url, homepage }: Published,
  { name, sha256 }: ReleasedFile,
): string {
  return `class Kinfold < Formula
  desc "${SHORT}, across Kubernetes clusters"
  homepage "${homepage}"
  url "${url}/${name}"
  sha256 "${sha256}"
  license "Apache-2.0"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args, "--ignore-scripts"
    bin.install_symlink libexec.glob("bin/*")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kinfold --version")
  end
end
`
}
