-- Statements that Delta itself refuses, before it reads a file.

-- group: lakes themselves
vacuum '{path:customers}';
optimize '{path:customers}';
describe history {tables}.customers;
restore table {tables}.customers to version as of 1;
