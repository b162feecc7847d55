import type { Example, Task } from './task.ts';

const acquire = `# Lease two keys together, or neither. Keep the id and
# the token: the token cannot be read again, and it
# confirms, cancels and reads the lease. Confirm it
# within a minute, or the keys are free again.
mutation AcquireLease {
  acquireLease(
    input: {
      documents: [
        { key: "example/report", value: "draft 7" }
        { key: "example/index" }
      ]
      ttlMs: 60000
    }
  ) {
    lease {
      id
      state
      expiresAt
    }
    token
    collidingKeys
    userErrors {
      code
      field
      message
    }
  }
}
`;

const taken = `# Whether a key could be leased now. It does not say
# who holds it.
query IsFree {
  isKeyAvailable(key: "example/report")
}
`;

const read = `# The lease, which requires its token.
query ReadLease($id: ID!, $token: String!) {
  lease(id: $id, token: $token) {
    state
    expiresAt
    documents {
      key
      value
    }
  }
}
`;

const cancel = `# Release the keys. confirmLease takes the same input
# and keeps them permanently.
mutation CancelLease($id: ID!, $token: String!) {
  cancelLease(input: { id: $id, token: $token }) {
    lease {
      state
    }
    userErrors {
      code
      field
      message
    }
  }
}
`;

const itsLease = {
  id: ['AcquireLease', 'acquireLease', 'lease', 'id'],
  token: ['AcquireLease', 'acquireLease', 'token'],
} satisfies Example['from'];
const aboutIt = '{\n  "id": "",\n  "token": ""\n}';

export const leases: Task = {
  title: 'Lease keys',
  examples: [
    { query: acquire, as: 'Ben' },
    { query: taken, as: 'Cleo' },
    { query: read, variables: aboutIt, as: 'Ben', from: itsLease },
    { query: cancel, variables: aboutIt, as: 'Ben', from: itsLease },
  ],
};
