/**
 * Which names an API server refuses for every object of the kinds that it serves itself, as
 * path.ValidatePathSegmentName does.
 *
 * What must stay true: it refuses nothing that an API server takes. A reference may still contain
 * such a name: of references only an empty one is refused.
 *
 * Not here: aggregated API servers, which may do otherwise, and the stricter rules of single kinds.
 */
export function isPathSegmentName(name: string): boolean {
  return name !== '.' && name !== '..' && !/[/%]/.test(name)
}
