/**
 * The rights of a test's user on brokers with ACLs, which apply when this resolves (on one broker;
 * of three, the others follow in milliseconds).
 */
import kafkajs from 'kafkajs'
import { eventually } from '../eventually.ts'
import type { Kafka } from './broker.ts'

const { AclResourceTypes, AclOperationTypes, AclPermissionTypes, ResourcePatternTypes } = kafkajs

export interface Permission {
  readonly user: string
  readonly on: 'TOPIC' | 'GROUP' | 'TRANSACTIONAL_ID' | 'CLUSTER'
  /**
   * Of the topic, group or transaction; a trailing `*` makes it the beginning of names. The cluster
   * has none.
   */
  readonly name?: string
  readonly operations: readonly Operation[]
}

export type Operation =
  | 'ALL'
  | 'READ'
  | 'WRITE'
  | 'CREATE'
  | 'DELETE'
  | 'ALTER'
  | 'DESCRIBE'
  | 'ALTER_CONFIGS'
  | 'DESCRIBE_CONFIGS'
  | 'IDEMPOTENT_WRITE'

export async function allow(kafka: Kafka, ...permissions: readonly Permission[]): Promise<void> {
  const acl = permissions.flatMap(aclsOf)
  const admin = kafka.superuser().admin()
  await admin.connect()
  try {
    await admin.createAcls({ acl })
    for (const each of acl) {
      await eventually('the permission is in force', async () => {
        const { resources } = await admin.describeAcls(each)
        return resources.length > 0
      })
    }
  } finally {
    await admin.disconnect()
  }
}

function aclsOf({ user, on, name = 'kafka-cluster', operations }: Permission) {
  const isPrefix = name.endsWith('*')
  return operations.map((operation) => ({
    principal: `User:${user}`,
    host: '*',
    resourceType: AclResourceTypes[on],
    resourceName: isPrefix ? name.slice(0, -1) : name,
    resourcePatternType: isPrefix ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
    operation: AclOperationTypes[operation],
    permissionType: AclPermissionTypes.ALLOW,
  }))
}
