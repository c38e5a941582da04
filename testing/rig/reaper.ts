/**
 * Builders of commands and objects for tests of the reaper.
 *
 * What must stay true: everything that a test does not name allows the command, and the object is
 * as the command was judged by.
 */
import type {
  AnnotateObject,
  CommandBase,
  DeleteObject,
  OrphanDependent,
  OwnerClaim,
  RemoveFinalizer,
  Target,
  VerifyOwner,
  WarnObject,
} from '../../core/model/command.ts'
import type { ObjectMeta, OwnerReference } from '../../core/model/object.ts'
import { type Rule, ruleDigest } from '../../core/model/rule/rule.ts'
import { ruleIn } from '../model/rule-notation.ts'

export const CLUSTER = 'c1'

export const POD: Target = {
  group: '',
  kind: 'Pod',
  namespace: 'ns',
  name: 'pod',
  version: 'v1',
  resource: 'pods',
  uid: 'u-pod',
  resourceVersion: '7',
  aggregated: false,
}

export const OWNER: OwnerReference = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name: 'rs',
  uid: 'u-rs',
  controller: true,
  blockOwnerDeletion: null,
}

export const OTHER_OWNER: OwnerReference = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  name: 'job',
  uid: 'u-job',
  controller: null,
  blockOwnerDeletion: false,
}

export const CLAIM: OwnerClaim = {
  group: 'apps',
  kind: 'ReplicaSet',
  namespace: 'ns',
  name: 'rs',
  uid: 'u-rs',
  version: 'v1',
  resource: 'replicasets',
  claim: 'absent',
  cluster: '',
  clusterEpoch: 0,
  createdAt: null,
}

const BASE: CommandBase = {
  id: '0-1-0',
  cluster: CLUSTER,
  clusterEpoch: 1,
  partition: 0,
  mode: 'enforce',
  target: POD,
  evidence: 'deleted',
  because: 'its owner rs is gone',
  basis: [1n],
}

/** The reaper takes the deciding facts to be as old as the command, at least. */
const JUST_NOW = Number.MAX_SAFE_INTEGER

export function deleteObject(more: Partial<DeleteObject> = {}): DeleteObject {
  return {
    ...BASE,
    type: 'DeleteObject',
    propagationPolicy: 'Background',
    gracePeriodSeconds: null,
    references: [OWNER],
    listDigest: null,
    finalizers: [],
    owners: [CLAIM],
    freshness: 'live',
    approvedBy: '',
    decidedAt: JUST_NOW,
    rule: null,
    ...more,
  }
}

export const RULE: Rule = ruleIn('old cm 60')

/** By a rule, of an object without owners. */
export function deleteByRule(more: Partial<DeleteObject> = {}, rule: Rule = RULE): DeleteObject {
  return deleteObject({
    evidence: 'rule',
    references: [],
    owners: [],
    rule: { name: rule.name, digest: ruleDigest(rule), policy: null },
    ...more,
  })
}

export const MARKING: Rule = ruleIn('mark cm 60 annotate:example.com/stale=yes')

export function annotateObject(
  more: Partial<AnnotateObject> = {},
  rule: Rule = MARKING,
): AnnotateObject {
  return {
    ...BASE,
    type: 'AnnotateObject',
    evidence: 'rule',
    annotation: rule.annotate ?? { key: 'example.com/stale', value: 'yes' },
    owners: [],
    freshness: 'live',
    decidedAt: JUST_NOW,
    rule: { name: rule.name, digest: ruleDigest(rule), policy: null },
    ...more,
  }
}

export function orphanDependent(more: Partial<OrphanDependent> = {}): OrphanDependent {
  return {
    ...BASE,
    type: 'OrphanDependent',
    references: [OTHER_OWNER, OWNER],
    listDigest: null,
    drop: [1],
    owners: [CLAIM],
    freshness: 'live',
    approvedBy: '',
    decidedAt: JUST_NOW,
    ...more,
  }
}

export function removeFinalizer(more: Partial<RemoveFinalizer> = {}): RemoveFinalizer {
  return {
    ...BASE,
    type: 'RemoveFinalizer',
    evidence: 'orphaning',
    finalizer: 'orphan',
    finalizers: ['keep', 'orphan'],
    deletedAt: 0,
    ...more,
  }
}

export function verifyOwner(more: Partial<VerifyOwner> = {}): VerifyOwner {
  return {
    ...BASE,
    type: 'VerifyOwner',
    evidence: 'not-found',
    target: { ...POD, resourceVersion: '' },
    ...more,
  }
}

export function warnObject(more: Partial<WarnObject> = {}): WarnObject {
  return {
    ...BASE,
    type: 'WarnObject',
    evidence: 'not-found',
    reason: 'OwnerRefInvalidNamespace',
    message: 'ownerRef is not in this namespace',
    ...more,
  }
}

/** The target as the builders' commands were judged by it; a `version` later. */
export function object(more: Partial<ObjectMeta> = {}): ObjectMeta {
  const { group, kind, namespace, name, version, resource, uid } = POD
  return {
    group,
    kind,
    namespace,
    name,
    version,
    resource,
    uid,
    scope: 'Namespaced',
    resourceVersion: '8',
    generation: null,
    createdAt: null,
    deletedAt: null,
    graceSeconds: null,
    finalizers: [],
    ownerReferences: [OWNER],
    labels: [],
    annotations: [],
    projected: null,
    ...more,
  }
}
